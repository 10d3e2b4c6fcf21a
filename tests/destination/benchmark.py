"""How fast the mirror is, beside others, in one run on one machine: `python -m tests.destination.benchmark`.

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

from pelican_resourcesync.destination import Mirror
from tests.destination.archives import package
from tests.destination.sources import digest, document, entry
from tests.support.live import closed_port, served
from tests.support.sites import ROOT

CASES = ["small", "large", "later", "dump", "past", "memory"]
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


def measured(*command: str | Path, env: dict[str, str] | None = None) -> tuple[float, float]:
    """Run a command; give its wall time and its CPU seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [*map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env={**COMPILED, **(env or {})}
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def mirror(address: str, folder: Path, *arguments: str, without_extra: bool = False) -> tuple[float, float]:
    """Run our mirror."""
    code = "import sys; sys.modules['pycurl'] = None; " if without_extra else ""
    code += "from pelican_resourcesync.cli import main; raise SystemExit(main())"
    return measured(sys.executable, "-c", code, "mirror", address, folder, *arguments)


def unsynced(address: str, folder: Path, *, without_extra: bool = False) -> tuple[float, float]:
    """Run our mirror without waiting for the disk, as the others do."""
    code = "import sys; sys.modules['pycurl'] = None; " if without_extra else "import sys; "
    code += "from pathlib import Path; from pelican_resourcesync.destination import Mirror, MirrorOptions; "
    code += "raise SystemExit(not Mirror(sys.argv[1], Path(sys.argv[2]), MirrorOptions(sync=False)).run().complete)"
    return measured(sys.executable, "-c", code, address, folder)


def follow(address: str, count: int, *, without_extra: bool = False) -> tuple[float, float]:
    """Let a program read each resource, without a copy."""
    code = "import sys; sys.modules['pycurl'] = None; " if without_extra else "import sys; "
    code += "from pelican_resourcesync.destination import follow; "
    code += "raise SystemExit(sum(1 for each in follow(sys.argv[1]) if each.content.read()) != int(sys.argv[2]))"
    return measured(sys.executable, "-c", code, address, str(count))


def curl(address: str, folder: Path, www: Path, names: Sequence[str], *, check: bool) -> tuple[float, float]:
    """Fetch the same files by `curl --parallel`, and check their hashes by `sha256sum`."""
    folder.mkdir()
    config = folder / "config"
    config.write_text("".join(f'url = "{address}/{name}"\noutput = "{folder}/{name}"\n' for name in names))
    fetched = measured(
        "curl", "-s", "--no-progress-meter", "--parallel", "--parallel-max", "8", "--create-dirs", "-K", config
    )
    if not check:
        return fetched
    sums = folder / "sums"
    sums.write_text(
        "".join(f"{hashlib.sha256((www / name).read_bytes()).hexdigest()}  {folder}/{name}\n" for name in names)
    )
    checked = measured("sha256sum", "--quiet", "-c", sums)
    return fetched[0] + checked[0], fetched[1] + checked[1]


def resync(address: str, folder: Path) -> tuple[float, float]:
    """Run `resync-sync --baseline`."""
    program = Path(sys.executable).with_name("resync-sync")
    lists = f"{address}/rs/capabilitylist.xml"
    folder.mkdir()
    return measured(program, "-b", "--hash", "sha-256", "--capabilitylist", lists, address, folder)


Run = Callable[[Path], tuple[float, float]]


def compare(title: str, runs: dict[str, Run], folder: Path, times: int, *, keep: bool = False) -> None:
    """Run several alternately, and print medians and ratios to the first.

    `keep`: remove the copies at the end only. Where many files were removed, ext4 makes new ones ten times slower
    for some minutes: it searches for inodes that were not in use lately.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for number in range(times):
        for count, (name, run) in enumerate(runs.items()):
            target = folder / f"run-{number}-{count}"
            found[name].append(run(target))
            if not keep:
                shutil.rmtree(target, ignore_errors=True)
    print(f"\n## {title}\n\n| | wall, s | CPU, s | wall, ratio | CPU, ratio |\n|---|---|---|---|---|")
    medians = {name: tuple(statistics.median(each) for each in zip(*all_, strict=True)) for name, all_ in found.items()}
    first = next(iter(medians.values()))
    for name, (wall, cpu) in medians.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / first[0]:.2f} | {cpu / first[1]:.2f} |", flush=True)
    for target in folder.glob("run-*"):
        shutil.rmtree(target, ignore_errors=True)


def baseline(folder: Path, count: int, size: int, times: int, *, others: bool) -> None:
    """Measure a first copy."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www = folder / "www"
    with host(www) as address:
        write_source(www, address, names, size)
        runs: dict[str, Run] = {
            "mirror": lambda target: mirror(address, target),
            "mirror without the extra": lambda target: mirror(address, target, without_extra=True),
            "mirror, unsynced": lambda target: unsynced(address, target),
            "mirror without the extra, unsynced": lambda target: unsynced(address, target, without_extra=True),
            "curl --parallel": lambda target: curl(address, target, www, names, check=False),
            "curl --parallel and sha256sum": lambda target: curl(address, target, www, names, check=True),
        }
        if count > 1_000:
            runs["follow, no folder"] = lambda _: follow(address, count)
            runs["follow without the extra, no folder"] = lambda _: follow(address, count, without_extra=True)
        if others:
            runs["resync 2.0.1"] = lambda target: resync(address, target)
        compare(f"A first copy of {count:,} files of {size:,} bytes", runs, folder, times, keep=count > 1_000)
    shutil.rmtree(www)


def later(folder: Path, count: int, times: int) -> None:
    """Measure an audit and later runs."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www, copy = folder / "www", folder / "copy"
    files = [copy / name for name in names]
    with host(www) as address:
        entries = write_source(www, address, names, 20_000)
        mirror(address, copy)

        def change(stamp: int) -> None:
            for number, name in enumerate(names[:100]):
                data = f"{stamp} {name}".encode()
                (www / name).write_bytes(data)
                md = {"hash": digest(data), "length": str(len(data))}
                entries[number] = entry(f"{address}/{name}", md, _time(stamp))

        def changed(_: Path) -> tuple[float, float]:
            stamp = int(time.time() * 1000)
            change(stamp)
            list_md = {"capability": "changelist", "from": AT}
            listed = "".join(entries[:100]).replace("<rs:md ", '<rs:md change="updated" ')
            (www / "rs/changelist.xml").write_bytes(document("urlset", list_md, listed))
            return mirror(address, copy)

        def compared(_: Path) -> tuple[float, float]:
            stamp = int(time.time() * 1000)
            change(stamp)
            write_lists(www, address, entries, [], _time(stamp))
            return mirror(address, copy)

        title = f"An audit of {count:,} files of 20 kB"
        summed: Run = lambda _: _summed(files)  # noqa: E731
        compare(
            title, {"openssl dgst -sha256": summed, "audit": lambda _: mirror(address, copy, "--audit")}, folder, times
        )
        runs: dict[str, Run] = {"nothing changed": lambda _: mirror(address, copy), "100 changes": changed}
        runs["100 changes, the Resource List compared"] = compared
        compare(f"Later runs of {count:,} resources of 20 kB", runs, folder, times)
        print(f"\nRequests where nothing changed: {Mirror(address, copy).run().plan.requests}")
    shutil.rmtree(www)
    shutil.rmtree(copy)


def _time(stamp: int) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(stamp // 1000))}.{stamp % 1000:03}Z"


def write_dump(www: Path, address: str, names: Sequence[str], path: str, at: str) -> str:
    """Write a Resource Dump of what there is, in packages of 50,000 members; return its entry in an archive."""
    pointers = ""
    for begin in range(0, len(names), 50_000):
        members = {f"resources/{name}": (www / name).read_bytes() for name in names[begin : begin + 50_000]}
        entries = "".join(
            entry(
                f"{address}/{name.removeprefix('resources/')}",
                {"hash": digest(data), "length": str(len(data)), "path": f"/{name}"},
                AT,
            )
            for name, data in members.items()
        )
        listed = document("urlset", {"capability": "resourcedump-manifest", "at": at}, entries)
        data = package(listed, members)
        file = f"{path.removesuffix('.xml')}-{begin}.zip"
        (www / file).write_bytes(data)
        md = {"type": "application/zip", "length": str(len(data)), "hash": digest(data), "at": at}
        pointers += entry(f"{address}/{file}", md)
    md = {"capability": "resourcedump", "at": at}
    (www / path).write_bytes(document("urlset", md, pointers, f"{address}/rs/capabilitylist.xml"))
    return entry(f"{address}/{path}", {"at": at})


def name_capability(www: Path, address: str, path: str, capability: str) -> None:
    """Let the Capability List name one more document."""
    lists = www / "rs/capabilitylist.xml"
    more = entry(f"{address}/{path}", {"capability": capability}).encode()
    lists.write_bytes(lists.read_bytes().replace(b"</urlset>", more + b"</urlset>"))


def dump(folder: Path, count: int, times: int, *, others: bool) -> None:
    """Measure a first copy from a Resource Dump."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www = folder / "www"
    with host(www) as address:
        write_source(www, address, names, 2_048)
        write_dump(www, address, names, "rs/resourcedump.xml", AT)
        name_capability(www, address, "rs/resourcedump.xml", "resourcedump")
        runs: dict[str, Run] = {
            "mirror, from a Resource Dump": lambda target: mirror(address, target),
            "mirror, by lists": lambda target: mirror(address, target, "--by", "lists"),
            "follow, from a Resource Dump, no folder": lambda _: follow(address, count),
        }
        if others:
            runs["resync 2.0.1"] = lambda target: resync(address, target)
        compare(f"A first copy of {count:,} files of 2 kB with dumps", runs, folder, times, keep=True)
    shutil.rmtree(www)


def past(folder: Path, count: int, times: int) -> None:
    """Measure the restore of a time between two snapshots, of which the first has been archived."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www = folder / "www"
    then, now = "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"
    with host(www) as address:
        write_source(www, address, names, 2_048)
        archived = write_dump(www, address, names, "rs/archived.xml", AT)
        (www / "rs/archive.xml").write_bytes(document("urlset", {"capability": "resourcedump-archive"}, archived))
        lists = (www / "rs/part0.xml").read_bytes()
        (www / "rs/list.xml").write_bytes(lists)
        pointer = entry(f"{address}/rs/list.xml", {"at": AT})
        (www / "rs/lists.xml").write_bytes(document("urlset", {"capability": "resourcelist-archive"}, pointer))
        changes, entries = [], []
        for number, name in enumerate(names):
            data, time_ = (www / name).read_bytes(), AT
            if number % 10 == 0:
                data, time_ = f"changed {number}".encode(), then if number % 20 else now
                (www / name).write_bytes(data)
            md = {"hash": digest(data), "length": str(len(data))}
            entries.append(entry(f"{address}/{name}", md, time_))
            if time_ != AT:
                changes.append((time_, entry(f"{address}/{name}", {"change": "updated", **md}, time_)))
        write_lists(www, address, entries, [each for _, each in sorted(changes)], now)
        feed = (www / "rs/changelist.xml").read_bytes()
        (www / "rs/changelist.xml").write_bytes(feed.replace(f'from="{now}"'.encode(), f'from="{AT}"'.encode()))
        name_capability(www, address, "rs/archive.xml", "resourcedump-archive")
        name_capability(www, address, "rs/lists.xml", "resourcelist-archive")
        runs: dict[str, Run] = {
            "a first copy": lambda target: mirror(address, target),
            "a restore": lambda target: mirror(address, target, "--at", "2024-02-15"),
        }
        compare(f"A restore of {count:,} files of 2 kB, a tenth of them changed", runs, folder, times, keep=True)
    shutil.rmtree(www)


def memory(folder: Path, count: int) -> None:
    """Measure the memory of a copy from packages of 50,000 members."""
    names = [f"{number % 100:02}/{number}.html" for number in range(count)]
    www = folder / "www"
    code = "from pelican_resourcesync.cli import main; status = main(); "
    # not `ru_maxrss`, which begins with that of the process that started this one
    code += "print(*[line for line in open('/proc/self/status') if 'VmHWM' in line]); raise SystemExit(status)"
    with host(www) as address:
        write_source(www, address, names, 64)
        write_dump(www, address, names, "rs/resourcedump.xml", AT)
        name_capability(www, address, "rs/resourcedump.xml", "resourcedump")
        print(f"\n## Memory of a copy of {count:,} files from packages of 50,000 members\n", flush=True)
        subprocess.run([sys.executable, "-c", code, "mirror", address, folder / "copy"], check=True, cwd=ROOT)
    shutil.rmtree(www)
    shutil.rmtree(folder / "copy")


def _summed(files: Sequence[Path]) -> tuple[float, float]:
    found = [
        measured("openssl", "dgst", "-sha256", *files[begin : begin + 5_000]) for begin in range(0, len(files), 5_000)
    ]
    return sum(wall for wall, _ in found), sum(cpu for _, cpu in found)


def main() -> None:
    """Measure all cases."""
    options = ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, help="a folder on the disk to measure with")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--scale", type=float, default=1.0, help="a part of the files, for a quick look")
    options.add_argument("--without-resync", action="store_true", help="leave out resync, which takes minutes")
    options.add_argument("--case", choices=CASES, action="append")
    given = options.parse_args()
    cases = given.case or CASES
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)
        if "small" in cases:
            baseline(folder, int(10_000 * given.scale), 2_048, given.runs, others=not given.without_resync)
        if "large" in cases:
            baseline(folder, int(200 * given.scale) or 1, 2_000_000, given.runs, others=False)
        if "later" in cases:
            later(folder, int(100_000 * given.scale), given.runs)
        if "dump" in cases:
            dump(folder, int(10_000 * given.scale), given.runs, others=not given.without_resync)
        if "past" in cases:
            past(folder, int(10_000 * given.scale), given.runs)
        if "memory" in cases:
            memory(folder, int(100_000 * given.scale))


if __name__ == "__main__":
    main()
