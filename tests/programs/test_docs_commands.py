"""Every command line of the docs is run, with a site and a repository on loopback, or has a reason here.

The hosts of the docs are these two, folders such as `/srv` are in a temporary one, and what a shell, a unit or a
crontab has around a command is left out. Each page begins anew, and its commands run in their order.
"""

import re
import shlex
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import duckdb
import pytest

from pelican_resourcesync import cli
from pelican_resourcesync.delivery.serve import FolderServer
from pelican_resourcesync.destination.listening import Listener
from repo_bridge import cli as bridge
from sample_site.dspace.cases import every_case
from tests.kit.bucket import bucket_server
from tests.kit.hub import Hub, IndexNow
from tests.kit.live import live, static
from tests.kit.sites import GIT_CONFIG, ROOT, Site, import_sample_site, run_program
from tests.repo_bridge.reading.test_dump import plain_dump
from tests.tools.first_page import DSPACE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = "pelican(?=$| content| -s)|pelican-resourcesync(?= [a-z])|repo-bridge(?= [a-z])"
#: A command in a block of code: after a prompt, variables, a unit's key, a crontab's time or a folder, until a pipe.
COMMAND = re.compile(rf"(?<![\w'\[.-])(?:/?[\w-]+/)*({PROGRAM})([^|&>#]*)")
#: A command in the prose, if it has arguments.
QUOTED = re.compile(r"`(pelican-resourcesync|repo-bridge)( (?!depends)[a-z]+ [^`]+)`")
#: The settings of the site, without its hub.
SETTINGS = """dumps = true
archives = true
versions = true
indexnow_key = "0123456789abcdef"
sets = {site = {}, articles = {paths = ["lamps"]}}
"""
#: What the docs write for what a reader fills in, and for hosts and folders.
MEANT = (
    (r"ui-url https://\S+", "ui-url {repository}"),
    (r"\bURI\b", "https://repository.example/resourcesync/repository/records/oai_dc/123456789/17.xml"),
    (r"https://(?:\w+\.)?repository\.example(/sync)?|https://library\.example/repository", "{repository}"),
    (
        r"https://(?:museum|manual)\.example|https://example\.org|http://localhost:8000|\$\{SOURCE\}|\$READTHEDOCS_CANONICAL_URL",
        "{site}",
    ),
    (r"(?:s3|gs)://[\w.]+|\bBUCKET\b", "s3://bucket/{page}"),
    (r"postgresql://\S+|\bDUMP\b", "dspace.dump"),
    (r" /(?:srv/|tmp/|(?=dspace))", " "),
    (r"callback https://copy\.example", "callback http://127.0.0.1:9"),
    (r":8090", ":0"),
    (r"serve output", "serve output --port 0"),
    (r"(announce (?!output --json)\S+)", r"\1 --endpoint {engine}"),
    (r"\b(TARGET|OUTPUT)\b", "output"),
    (r"\$+step", "1"),
    (r'\$READTHEDOCS_OUTPUT/html|"\$\(OUTPUTDIR\)"', "output"),
    (r"^rate = 5$", "rate = 5000"),
    (r"ed25519:…", f"ed25519:{43 * 'A'}"),
)
#: Commands that are only parsed, with the reason.
NOT_RUN = {
    "key --replace": "it needs a key: tests/system/test_signing.py",
    "key --public": "it needs a key: tests/system/test_signing.py",
    "mirror https://example.org/ copy --key ed25519:…": "it needs a signed Source: tests/destination/test_mirrors.py",
    "mirror --config sources.toml --cluster tcp://10.0.0.1:8786 --jobs 64": "a cluster: tests/destination/test_many.py",
    "publish --table 'listing/*.parquet' --base-url https://repository.example/sync --out public"
    " --cluster tcp://10.0.0.1:8786": "a cluster: tests/repo_bridge/test_table_published.py",
    "publish --table 's3://bucket/listing/*.parquet' --base-url https://repository.example/sync --out public"
    " --bucket s3://bucket/sync --previous s3://bucket/sync --cluster tcp://10.0.0.1:8786": "a cluster, as above",
}
#: Commands with another exit status than 0, with the reason.
STATUS = {
    "check --deep https://sync.repository.example": (1, "nobody serves the files of the repository"),
}


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page, each a program and its arguments as they are written."""
    fenced = False
    for line in re.sub(r" \\\n *", " ", page.read_text("utf-8")).splitlines():
        fenced ^= line.lstrip().startswith("```")
        pattern = COMMAND if fenced or line.startswith("    ") else QUOTED
        yield from ((program, arguments.strip()) for program, arguments in pattern.findall(line))


def meant(text: str, values: dict[str, str]) -> str:
    """Return a text of the docs with what it stands for here."""
    for pattern, replacement in MEANT:
        text = re.sub(pattern, replacement.format(**values), text, flags=re.MULTILINE)
    return text


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Yield the addresses of the two, which are served from the folder `now`; `first` is a copy of it."""
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: stop() if seconds > 60 else sleep(seconds))
    monkeypatch.setattr(Listener, "wait", stop)
    monkeypatch.setattr(FolderServer, "serve_forever", stop)
    monkeypatch.setattr(sys, "stdin", StringIO("ok\n" * 1000))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n", "utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    now = tmp_path / "now"
    with (
        bucket_server(monkeypatch),
        live(static(now / "site/output")) as site,
        live(static(now / "repository/public")) as repository,
        live(IndexNow()) as engine,
        live(Hub()) as hub,
    ):
        site.keep_alive = repository.keep_alive = True
        values = {"site": site.url, "repository": repository.url, "engine": f"{engine.url}/indexnow"}
        make_site(import_sample_site(now / "site"), values, f"{hub.url}/hub")
        make_repository(now / "repository", values, f"{hub.url}/hub")
        now.rename(tmp_path / "first")
        yield values


def stop(*_: object, **__: object) -> None:
    """End what would wait for a person or another run."""
    raise KeyboardInterrupt


def make_site(site: Site, values: dict[str, str], hub: str) -> None:
    """Publish the sample site three times; what another generator built is the same folder."""
    url = values["site"]
    text = f'{SETTINGS}hubs = ["{hub}"]\n'
    settings = tomllib.loads(text)
    for revision in ("main~1", "main"):
        site.git("checkout", "--quiet", revision)
        site.build(SITEURL=url, FEED_DOMAIN=url, RESOURCESYNC=settings)
    conf = (site.folder / "pelicanconf.py").read_text("utf-8").replace("https://museum.example", url)
    for name in ("pelicanconf.py", "publishconf.py"):
        site.write(name, f"{conf}\nRESOURCESYNC = {settings}\n")
    site.write("content/letters/17.md", "Title: To the keeper\nDate: 2024-12-01\nCategory: letters\n\nA letter.\n")
    site.write("content/pages/guide.md", "Title: Guide\nurl: guide/\nsave_as: guide/index.html\n\nThis way.\n")
    for name in ("public", "site"):
        (site.folder / name).symlink_to("output")
    site.write(".gitignore", "output/\npublic\nsite\n.resourcesync/\n")
    with (site.folder / ".git/config").open("a") as config:
        config.write(GIT_CONFIG)
    site.write("resourcesync.toml", f'folder = "public"\nprevious = "output"\nbase_url = "{url}"\n{text}')
    site.write("handle", "#!/bin/sh\n").chmod(0o755)
    (sources,) = re.findall(r"```toml\n(\[defaults\].*?)```", (ROOT / "docs/many.md").read_text("utf-8"), re.DOTALL)
    site.write("sources.toml", meant(sources, {**values, "page": ""}))
    site.commit("2024-12-01T12:00:00Z")
    site.build()


def make_repository(folder: Path, values: dict[str, str], hub: str) -> None:
    """Publish a repository from a dump of its database, beside a table of resources and DSpace's configuration."""
    new = folder.with_name("new")
    (new / "dspace/config").mkdir(parents=True)
    (new / "listing").mkdir()
    (new / "dspace/config/dspace.cfg").write_text(DSPACE, "utf-8")
    folder.mkdir()
    (folder / "dspace.dump").write_text(plain_dump(every_case(), 7), "utf-8")
    duckdb.sql(f"COPY (SELECT '{values['repository']}/1.pdf' AS uri) TO '{new}/listing/1.parquet'")
    url = values["repository"]
    keys = f'out = "public"\nbase-url = "{url}"\nui-url = "{url}"\nhubs = ["{hub}"]\n'
    (folder / "repo_bridge.toml").write_text(f'{keys}database = "dspace.dump"\ntimezone = "UTC"\n', "utf-8")
    done = run_program("repo-bridge", folder, "publish")
    assert done.returncode == 0, done.stderr


def test_every_command_line_is_run(hosts: dict[str, str], tmp_path: Path) -> None:
    """Each ends with the status 0, apart from those with a reason above."""
    failed, seen = [], set[str]()
    for page in PAGES:
        anew = True
        for program, text in commands(page):
            if text in seen and text.startswith("backfill"):  # which takes long
                continue
            seen.add(text)
            words = shlex.split(meant(text, {**hosts, "page": page.stem}))
            if text in NOT_RUN:
                (bridge if program == "repo-bridge" else cli).parser().parse_args(words)
                continue
            if anew:
                shutil.rmtree(tmp_path / "now", ignore_errors=True)
                shutil.copytree(tmp_path / "first", tmp_path / "now", symlinks=True)
            place = "site"
            if program == "repo-bridge" or page.stem.startswith("bridge") or "/repository/" in text:
                place = "new" if words[0] == "init" or "--table" in words else "repository"
            sys.stdin.seek(0)
            done = run_program(program, tmp_path / "now" / place, *words)
            if done.returncode != STATUS.get(text, (0,))[0]:
                failed.append(f"{page.name}: {program} {text}\n{done.stderr or done.stdout}")
            anew = words[:1] in (["backfill"], ["forget"])  # the documents start over, and the pages wait for a build
    assert not failed, "\n".join(failed)
    assert seen >= NOT_RUN.keys() | STATUS.keys()


def test_extras_that_are_installed_are_extras() -> None:
    """Each name in the brackets after the package is one of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = "".join(page.read_text("utf-8") for page in PAGES)
    names = {name for names in re.findall(r"pelican-resourcesync\[([a-z,]+)\]", text) for name in names.split(",")}
    assert "mirror" in names
    assert names <= project["optional-dependencies"].keys()
