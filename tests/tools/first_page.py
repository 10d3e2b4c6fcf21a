"""Follow the first page of `docs/bridge.md` like a new administrator: run its commands literally, and time each step.

`python -m tests.tools.first_page PACKAGE`, as root on a Debian machine that can be thrown away, with PostgreSQL, nginx
and Apache, and this project's extra `test`. `PACKAGE` is a wheel or a checkout. Only what a reader fills in is
replaced; TLS is left out. Without systemd, the units are verified and the command of the service is run.
"""

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sample_site.dspace.repository import rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.garden import repository
from tests.kit.sites import ROOT

PAGE = (ROOT / "docs/bridge.md").read_text("utf-8")
HOST = "sync.repository.example"
PASSWORD = "correct horse battery staple"
DSPACE = """
dspace.dir = /dspace
dspace.ui.url = http://localhost:4000
dspace.server.url = http://localhost:8080/server
dspace.name = DSpace at My University
db.url = jdbc:postgresql://localhost:5432/dspace
db.username = dspace
db.password = dspace
metadata.hide.dc.description.provenance = true
metadata.hide.dc.contributor.author = true
"""
AS_USER = ("su", "--login", "--shell=/bin/bash", "resourcesync")
AS_POSTGRES = ("runuser", "-u", "postgres", "--", "psql")
#: What has to be known of the web servers: the file for the page's lines, what goes around them, the command, its end.
SERVERS = {
    "nginx": (Path("/etc/nginx/conf.d/resourcesync.conf"), "{}", "nginx", "nginx -s stop"),
    "apache": (
        Path("/etc/apache2/sites-enabled/resourcesync.conf"),
        "<VirtualHost *:80>\nServerName " + HOST + "\n{}ProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n",
        "a2enmod --quiet proxy_http && apachectl start",
        "apachectl stop",
    ),
}


def main() -> None:
    """Make a DSpace, follow the page with nginx, and look through Apache too at what was published."""
    package = str(Path(sys.argv[1]).absolute())
    prepare()
    with serving("nginx"):
        for number, blocks in enumerate(steps(), 1):
            with timed(f"step {number}"):
                for block in blocks:
                    follow(block, package)
        look()
    with serving("apache"):
        look()


@contextmanager
def serving(kind: str) -> Iterator[None]:
    """Run a web server with the lines of the page."""
    file, around, begin, end = SERVERS[kind]
    with timed(f"{kind} starts"):
        file.write_text(around.format(code(kind)), "utf-8")
        shell(begin)
    try:
        yield
    finally:
        shell(end)
        file.unlink()


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a block took."""
    began = time.monotonic()
    yield
    say(f"=== {what}: {time.monotonic() - began:.1f} s")


def shell(text: str, given: str = "") -> None:
    """Run commands in a new session, so that a password is read from `given`."""
    say(f"# {text}")
    subprocess.run(["sh", "-e", "-c", text], input=given, text=True, check=True, start_new_session=True)


def say(text: str) -> None:
    """Print a line before what is printed next by others."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def code(kind: str) -> str:
    """Return the first block of this kind of code on the page."""
    return str(re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0])


def steps() -> list[list[str]]:
    """Return the commands of each numbered step, in blocks."""
    section = PAGE.split("## Getting started\n", 1)[1].split("\nThe settings now", 1)[0]
    found = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]
    return [re.findall(r"(?:^ {8}.*\n)+", step, re.MULTILINE) for step in found]


def prepare() -> None:
    """Make the database of a DSpace, from its migrated schema, and its configuration; give the host its name."""
    shell(f"echo 127.0.0.1 {HOST} >> /etc/hosts; pg_lsclusters | grep online || pg_ctlcluster 15 main start")
    shell(shlex.join([*AS_POSTGRES, "--command=ALTER ROLE postgres PASSWORD 'postgres'"]))
    made = Server("postgresql://postgres:postgres@localhost/postgres").database(rows_of(repository(), 7), 7)
    shell(shlex.join([*AS_POSTGRES, f"--command=ALTER DATABASE {made.rpartition('/')[2]} RENAME TO dspace"]))
    shell("mkdir --parents /dspace/config /dspace/assetstore")
    Path("/dspace/config/dspace.cfg").write_text(DSPACE, "utf-8")
    Path("role.sql").write_text(code("sql"), "utf-8")


def follow(block: str, package: str) -> None:
    """Run a block of commands; those after `su`, and those of the virtual environment, as the new user."""
    text = re.sub(r"^ {8}", "", block, flags=re.MULTILINE)
    for shown, filled_in in {
        "'pelican-resourcesync[bridge]'": shlex.quote(f"{package}[bridge]"),
        f"https://{HOST}": f"http://{HOST}",
        "…": PASSWORD,
    }.items():
        text = text.replace(shown, filled_in)
    if text.startswith("host "):  # a line that Debian's pg_hba.conf has for this machine
        return
    if "systemctl" in text and not Path("/run/systemd/system").exists():
        verify_units()
    elif text.startswith(("su ", "venv/bin/repo-bridge ", "echo ")):
        shell(shlex.join(AS_USER), "set -e\n" + re.sub(r"\Asu .*\n", "", text))
    elif text.startswith("venv/"):
        shell(f"cd /srv/resourcesync\n{text}")
    else:
        shell(text, "y\n" if text.startswith("apt-get") else f"{PASSWORD}\n" * 2)


def verify_units() -> None:
    """Verify the units, and run what the service would run, as its user and in its folder."""
    shell("cd /srv/resourcesync && systemd-analyze verify ./repo-bridge.service ./repo-bridge.timer")
    text = Path("/srv/resourcesync/repo-bridge.service").read_text("utf-8")
    unit = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    shell(f"cd {unit['WorkingDirectory']} && runuser -u {unit['User']} -- {unit['ExecStart']}")


def look() -> None:
    """Fetch an entry point, and check what is published."""
    shell(f"curl --silent --show-error --fail --head http://{HOST}/.well-known/resourcesync")
    shell(f"/srv/resourcesync/venv/bin/pelican-resourcesync check http://{HOST}")


if __name__ == "__main__":
    main()
