"""How fast the mirror is, beside others, in one run on one machine: `python -m tests.tools.bench.mirror`.

A Source on loopback (nginx if it is installed), the copy on the disk of `--folder`. Each figure is the median of
alternating runs: wall time and CPU seconds of the client's processes. Ratios compare within this run.
"""

import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.kit.documents import package
from tests.kit.live import closed_port, served
from tests.kit.sites import ROOT
from tests.kit.sources import digest, document, entry

CASES = ["small", "large", "later", "dump"]
#: The environment of programs: Python may keep its modules compiled, as it does for users.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
AT = "2024-01-01T00:00:00Z"
NGINX = """daemon off; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {0}/t; proxy_temp_path {0}/t; fastcgi_temp_path {0}/t;
  uwsgi_temp_path {0}/t; scgi_temp_path {0}/t; keepalive_requests 100000; sendfile on;
  server {{ listen 127.0.0.1:{1}; root {2}; }} }}"""


@contextmanager
def host(folder: Path) -> Iterator[str]:
    """Serve a folder by nginx, or else by Python."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        with served(folder) as address:
            yield address
        return
    with tempfile.TemporaryDirectory() as work:
        port = closed_port()
        Path(work).chmod(0o755)
        Path(work, "conf").write_text(("user root;" if not os.geteuid() else "") + NGINX.format(work, port, folder))
        with subprocess.Popen([nginx, "-c", f"{work}/conf"], stderr=subprocess.DEVNULL) as server:
            time.sleep(1)
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()


def write_source(www: Path, address: str, names: Sequence[str], size: int) -> list[str]:
    """Write resources and their documents; return the entries of the Resource List."""
    (www / ".well-known").mkdir(parents=True)
    (www / "rs").mkdir()
    entries = []
    for number, name in enumerate(names):
        data = hashlib.sha256(b"%d" % number).digest() * (size // 32)
        (www / name).parent.mkdir(parents=True, exist_ok=True)
        (www / name).write_bytes(data)
        entries.append(entry(f"{address}/{name}", {"hash": digest(data), "length": str(len(data))}, AT))
    write_lists(www, address, entries, [])
    return entries


def write_lists(www: Path, address: str, entries: Sequence[str], changes: Sequence[str], at: str = AT) -> None:
    """Write the documents, the Resource List in parts."""
    up = f"{address}/rs/capabilitylist.xml"
    parts = ""
    for number, begin in enumerate(range(0, len(entries), 50_000)):
        md = {"capability": "resourcelist", "at": at}
        (www / f"rs/part{number}.xml").write_bytes(document("urlset", md, "".join(entries[begin : begin + 50_000]), up))
        parts += entry(f"{address}/rs/part{number}.xml", {"at": at}, tag="sitemap")
    md = {"capability": "resourcelist", "at": at}
    (www / "rs/resourcelist.xml").write_bytes(document("sitemapindex", md, parts, up))
    md = {"capability": "changelist", "from": at}
    (www / "rs/changelist.xml").write_bytes(document("urlset", md, "".join(changes), up))
    lists = "".join(entry(f"{address}/rs/{each}.xml", {"capability": each}) for each in ("resourcelist", "changelist"))
    (www / "rs/capabilitylist.xml").write_bytes(document("urlset", {"capability": "capabilitylist"}, lists))
    description = document("urlset", {"capability": "description"}, entry(up, {"capability": "capabilitylist"}))
    (www / ".well-known/resourcesync").write_bytes(description)


Run = Callable[[Path], tuple[float, float]]


def measured(*command: str | Path) -> tuple[float, float]:
    """Run a command; return its wall time and its CPU seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=COMPILED)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def program(code: str, *arguments: object, extra: bool = True) -> tuple[float, float]:
    """Run Python, with or without pycurl."""
    begin = "import sys; " if extra else "import sys; sys.modules['pycurl'] = None; "
    return measured(sys.executable, "-c", begin + code, *map(str, arguments))


def mirror(
    address: str, folder: Path, *arguments: str, verb: str = "mirror", extra: bool = True
) -> tuple[float, float]:
    """Run our mirror."""
    code = "from pelican_resourcesync.cli import main; raise SystemExit(main())"
    return program(code, verb, address, folder, *arguments, extra=extra)


def follow(address: str, count: int) -> tuple[float, float]:
    """Let a program read each resource, without a copy."""
    code = "from pelican_resourcesync.destination import follow; "
    code += "raise SystemExit(sum(1 for each in follow(sys.argv[1]) if each.content.read()) != int(sys.argv[2]))"
    return program(code, address, count)


def curl(address: str, folder: Path, www: Path, names: Sequence[str]) -> tuple[float, float]:
    """Fetch the same files by `curl --parallel`, and check their hashes by `sha256sum`."""
    folder.mkdir()
    config, sums = folder / "config", folder / "sums"
    config.write_text("".join(f'url = "{address}/{name}"\noutput = "{folder}/{name}"\n' for name in names))
    hashes = ((name, hashlib.sha256((www / name).read_bytes()).hexdigest()) for name in names)
    sums.write_text("".join(f"{digest}  {folder}/{name}\n" for name, digest in hashes))
    parallel = ["--parallel", "--parallel-max", "8", "--create-dirs"]
    fetched = measured("curl", "-s", "--no-progress-meter", *parallel, "-K", config)
    checked = measured("sha256sum", "--quiet", "-c", sums)
    return fetched[0] + checked[0], fetched[1] + checked[1]


def compare(title: str, runs: dict[str, Run], folder: Path, times: int) -> None:
    """Run several alternately, and print medians and ratios to the first.

    Copies are removed at the end only: where many files were removed, ext4 makes new ones ten times slower for some
    minutes, because it searches for inodes that were not in use lately.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for number in range(times):
        for count, (name, run) in enumerate(runs.items()):
            found[name].append(run(folder / f"run-{number}-{count}"))
    print(f"\n## {title}\n\n| | wall, s | CPU, s | wall, ratio | CPU, ratio |\n|---|---|---|---|---|")
    medians = {name: tuple(statistics.median(each) for each in zip(*all_, strict=True)) for name, all_ in found.items()}
    first = next(iter(medians.values()))
    for name, (wall, cpu) in medians.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / first[0]:.2f} | {cpu / first[1]:.2f} |", flush=True)
    for target in folder.glob("run-*"):
        shutil.rmtree(target, ignore_errors=True)


def baseline(folder: Path, count: int, size: int, times: int, *, dump: bool = False) -> None:
    """Measure a first copy, by lists or from a Resource Dump."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www = folder / "www"
    with host(www) as address:
        write_source(www, address, names, size)
        runs: dict[str, Run] = {"mirror": lambda target: mirror(address, target)}
        if dump:
            write_dump(www, address, names)
            runs["mirror, by lists"] = lambda target: mirror(address, target, "--by", "lists")
        else:
            runs["mirror without the extra"] = lambda target: mirror(address, target, extra=False)
            runs["curl --parallel and sha256sum"] = lambda target: curl(address, target, www, names)
        runs["follow, no folder"] = lambda _: follow(address, count)
        title = f"A first copy of {count:,} files of {size:,} bytes{' with a dump' * dump}"
        compare(title, runs, folder, times)
    shutil.rmtree(www)


def later(folder: Path, count: int, times: int) -> None:
    """Measure an audit and later runs."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www, copy = folder / "www", folder / "copy"
    with host(www) as address:
        entries = write_source(www, address, names, 20_000)
        mirror(address, copy)

        def changed(*, listed: bool) -> tuple[float, float]:
            stamp = int(time.time() * 1000)
            now = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(stamp // 1000))}.{stamp % 1000:03}Z"
            for number, name in enumerate(names[:100]):
                data = f"{stamp} {name}".encode()
                (www / name).write_bytes(data)
                entries[number] = entry(f"{address}/{name}", {"hash": digest(data), "length": str(len(data))}, now)
            if listed:
                write_lists(www, address, entries, [], now)
            else:
                changes = "".join(entries[:100]).replace("<rs:md ", '<rs:md change="updated" ')
                feed = document("urlset", {"capability": "changelist", "from": AT}, changes)
                (www / "rs/changelist.xml").write_bytes(feed)
            return mirror(address, copy)

        runs: dict[str, Run] = {
            "nothing changed": lambda _: mirror(address, copy),
            "100 changes": lambda _: changed(listed=False),
            "100 changes, the Resource List compared": lambda _: changed(listed=True),
            "audit": lambda _: mirror(address, copy, verb="audit"),
        }
        compare(f"Later runs of {count:,} resources of 20 kB", runs, folder, times)
    shutil.rmtree(www)
    shutil.rmtree(copy)


def write_dump(www: Path, address: str, names: Sequence[str]) -> None:
    """Write a Resource Dump of what there is, in packages of 50,000 members."""
    pointers = ""
    for begin in range(0, len(names), 50_000):
        members = {name: (www / name).read_bytes() for name in names[begin : begin + 50_000]}
        described = ((name, {"hash": digest(data), "length": str(len(data))}) for name, data in members.items())
        entries = "".join(entry(f"{address}/{name}", {**md, "path": f"/{name}"}, AT) for name, md in described)
        data = package(document("urlset", {"capability": "resourcedump-manifest", "at": AT}, entries), members)
        (www / f"rs/dump-{begin}.zip").write_bytes(data)
        md = {"type": "application/zip", "length": str(len(data)), "hash": digest(data), "at": AT}
        pointers += entry(f"{address}/rs/dump-{begin}.zip", md)
    (www / "rs/resourcedump.xml").write_bytes(document("urlset", {"capability": "resourcedump", "at": AT}, pointers))
    lists = www / "rs/capabilitylist.xml"
    more = entry(f"{address}/rs/resourcedump.xml", {"capability": "resourcedump"}).encode()
    lists.write_bytes(lists.read_bytes().replace(b"</urlset>", more + b"</urlset>"))


def main() -> None:
    """Measure all cases."""
    options = ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, help="a folder on the disk to measure with")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--scale", type=float, default=1.0, help="a part of the files, for a quick look")
    options.add_argument("--case", choices=CASES, action="append")
    given = options.parse_args()
    cases = given.case or CASES
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)
        if "small" in cases:
            baseline(folder, int(10_000 * given.scale), 2_048, given.runs)
        if "large" in cases:
            baseline(folder, int(200 * given.scale) or 1, 2_000_000, given.runs)
        if "dump" in cases:
            baseline(folder, int(10_000 * given.scale), 2_048, given.runs, dump=True)
        if "later" in cases:
            later(folder, int(100_000 * given.scale), given.runs)


if __name__ == "__main__":
    main()
