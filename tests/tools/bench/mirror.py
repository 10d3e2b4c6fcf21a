"""The cases of mirrors: a Source that is served by nginx, if it is installed, or else by Python."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import count as numbers
from pathlib import Path

from tests.kit.live import closed_port
from tests.tools.bench.runner import Case, Figure, Variant, run

_OURS = (sys.executable, "-m", "pelican_resourcesync")
_PLAIN = (
    "import sys; sys.modules['pycurl'] = None; from pelican_resourcesync.cli import main; sys.exit(main(sys.argv[1:]))"
)
_FOLLOW = (
    "import sys; from pelican_resourcesync.destination import follow; "
    "sys.exit(sum(1 for change in follow(sys.argv[1]) if change.content.read()) != int(sys.argv[2]))"
)
#: Fetches what is listed in `config`, as a mirror does, and compares hashes with those in `sums`.
_CURL = "curl -s --no-progress-meter --parallel --parallel-max 8 --create-dirs -K config && sha256sum --quiet -c sums"
_NGINX = """daemon off; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {0}/t; proxy_temp_path {0}/t; fastcgi_temp_path {0}/t;
  uwsgi_temp_path {0}/t; scgi_temp_path {0}/t; keepalive_requests 100000; sendfile on;
  server {{ listen 127.0.0.1:{1}; root {0}/www; }} }}"""

_SERVERS: list[subprocess.Popen[bytes]] = []


def _served(folder: Path) -> str:
    """Serve the folder `www` as long as this process lives; return its URL."""
    port, nginx = closed_port(), shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    folder.chmod(0o755)
    (folder / "conf").write_text(("user root;" if not os.geteuid() else "") + _NGINX.format(folder, port))
    plain = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder / "www")]
    command = [nginx, "-c", str(folder / "conf")] if nginx else plain
    until_we_end = ["sh", "-c", '"$@" & read end; kill $!', "sh", *command]
    _SERVERS.append(subprocess.Popen(until_we_end, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
    time.sleep(1)
    return f"http://127.0.0.1:{port}"


def _write(folder: Path, files: int, size: int, state: int = 0) -> None:
    for number in range(files):
        file = folder / "www" / f"{number % 100:02}/{number}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(hashlib.sha256(b"%d %d" % (number, state)).digest() * (size // 32))


def _publish(folder: Path, address: str) -> None:
    (folder / "resourcesync.toml").write_text('previous = "output"\ndumps = true\nallow_deletions = true\n')
    run([*_OURS, "publish", "www", "--base-url", address], folder)


def _first(folder: Path, files: int, size: int) -> Sequence[Variant]:
    """Copy all there is."""
    address, copy = _served(folder), folder / "copy"
    _write(folder, files, size)
    paths = [file.relative_to(folder / "www") for file in folder.rglob("*.html")]
    hashes = [hashlib.sha256((folder / "www" / path).read_bytes()).hexdigest() for path in paths]
    config = "".join(f'url = "{address}/{path}"\noutput = "{copy}/{path}"\n' for path in paths)
    (folder / "config").write_text(config)
    (folder / "sums").write_text("".join(f"{sha}  {copy}/{path}\n" for sha, path in zip(hashes, paths, strict=True)))
    _publish(folder, address)
    begin, source = partial(shutil.rmtree, copy, ignore_errors=True), (address, str(copy))
    return [
        Variant("curl and sha256sum", ("sh", "-c", _CURL), begin),
        Variant("mirror, by lists", (*_OURS, "mirror", *source, "--by", "lists"), begin),
        Variant("mirror, by the dump", (*_OURS, "mirror", *source, "--by", "dumps"), begin),
        Variant("mirror, without the extra", (sys.executable, "-c", _PLAIN, "mirror", *source, "--by", "lists"), begin),
        Variant("follow", (sys.executable, "-c", _FOLLOW, address, str(files))),
    ]


def _later(folder: Path, files: int) -> Sequence[Variant]:
    """Copy what has changed since."""
    address, copy, states = _served(folder), str(folder / "copy"), numbers(1)
    _write(folder, files, 2_048)
    _publish(folder, address)
    run([*_OURS, "mirror", address, copy], folder)

    def change() -> None:
        _write(folder, min(files, 100), 2_048, next(states))
        _publish(folder, address)

    return [
        Variant("audit", (*_OURS, "audit", address, copy)),
        Variant("nothing changed", (*_OURS, "mirror", address, copy)),
        Variant("100 changes", (*_OURS, "mirror", address, copy), change),
    ]


_CURL_ALONE = "to `curl --parallel` and `sha256sum`"
_SMALL = (
    Figure(f"A first copy of 10,000 files of 2 kB, {_CURL_ALONE}", "mirror, by lists", "curl and sha256sum", 2.0),
    Figure("The same from a Resource Dump, to that by lists", "mirror, by the dump", "mirror, by lists", 0.9),
    Figure("The same without the extra, to that with it", "mirror, without the extra", "mirror, by lists", 5.0),
    Figure("The same by `follow`, without a folder", "follow", "mirror, by lists", 1.0),
)
_LARGE = (Figure(f"A first copy of 200 files of 2 MB, {_CURL_ALONE}", "mirror, by lists", "curl and sha256sum", 1.0),)
_LATER = (
    Figure("A mirror of 10,000 resources, nothing changed, to an audit", "nothing changed", "audit", 0.5),
    Figure("The same with 100 changes", "100 changes", "audit", 0.6),
)
MIRRORS = (
    Case("mirror", partial(_first, files=10_000, size=2_048), _SMALL),
    Case("mirror-later", partial(_later, files=10_000), _LATER),
    Case("mirror-large", partial(_first, files=200, size=2_000_000), _LARGE, large=True),
)
