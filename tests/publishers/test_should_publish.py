"""The occasion: which builds publish, and that the others leave every document as it is."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from pelican_resourcesync.publishers.should_publish import PREVIEWS, why_not_to_publish
from tests.kit.live import closed_port, live, status
from tests.kit.museum import Tree, tree
from tests.kit.sites import Site, our_command, run, strip

PREVIEW = "this is a preview (--autoreload or --listen)"
NO_ADDRESS = "SITEURL is empty (pelican-quickstart sets it in publishconf.py, for make publish)"


def why(siteurl: str = "https://example.org", *arguments: str, enabled: bool = True, **environment: str) -> str | None:
    """Ask for a build of these arguments in this environment."""
    return asked(["/usr/bin/pelican", *arguments], siteurl, environment, enabled=enabled)


def asked(
    arguments: Sequence[str],
    siteurl: str = "https://example.org",
    environment: Mapping[str, str] = MappingProxyType({}),
    *,
    enabled: bool = True,
) -> str | None:
    """Ask for a process of these arguments, its program first."""
    settings = {"SITEURL": siteurl, "RESOURCESYNC": {"enabled": enabled}}
    return why_not_to_publish(settings, environment, arguments)


def test_a_build_publishes() -> None:
    """Unless something speaks against it."""
    assert why() is None
    assert why("https://example.org", "content", "-s", "publishconf.py", "-o", "output", "-t", "theme-l", "-d") is None
    assert asked([]) is None


def test_reasons_in_the_settings() -> None:
    """That it publishes nothing comes first, and that it has no address yet last: previews need none."""
    assert why("") == NO_ADDRESS
    assert why("", "-l") == PREVIEW
    assert why("", "-l", enabled=False, CONTEXT="deploy-preview") == "the setting 'enabled' is false"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTEXT", "deploy-preview"),
        ("CONTEXT", "branch-deploy"),
        ("VERCEL_ENV", "preview"),
        ("IS_PULL_REQUEST", "true"),
        ("PULL_REQUEST", "true"),
        ("READTHEDOCS_VERSION_TYPE", "external"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("AWS_PULL_REQUEST_ID", "12"),
    ],
)
def test_previews(name: str, value: str) -> None:
    """What hosts set where they build something else than the site itself."""
    assert asked(["pelican"], environment={name: value}) == f"this is a preview ({name} is {value!r})"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTEXT", "production"),
        ("CONTEXT", "my deploy-preview"),
        ("VERCEL_ENV", "production"),
        ("IS_PULL_REQUEST", "false"),
        ("GITHUB_EVENT_NAME", "push"),
        ("GITHUB_EVENT_NAME", "workflow_dispatch"),
        ("CI_PIPELINE_SOURCE", "push"),
        ("CF_PAGES_BRANCH", "trunk"),  # which may be the branch in production: Cloudflare does not say
        *((name, "") for name in PREVIEWS),
    ],
)
def test_the_site_itself(name: str, value: str) -> None:
    """The same variables in a build of the site."""
    assert asked(["pelican"], environment={name: value}) is None


@pytest.mark.parametrize(
    "option", ["-l", "--listen", "--lis", "-lr", "-rl", "-Drl", "-lp8000", "-r", "-qr", "--autoreload", "--auto"]
)
def test_listening(option: str) -> None:
    """However the option is written."""
    assert why("https://example.org", "content", option) == PREVIEW
    for program in ("/usr/lib/python3/pelican/__main__.py", "C:/Python/Scripts/pelican.exe", "pelican"):
        assert asked([program, option]) == PREVIEW


def test_options_of_other_programs() -> None:
    """Pelican may be run by a program whose options mean something else."""
    for program in ("pytest", "/srv/publish.py", "/usr/lib/python3/other/__main__.py"):
        assert asked([program, "-l"]) is None


# --- real builds -------------------------------------------------------------


@pytest.fixture
def published(site: Site) -> Site:
    """Return a site that was published, with a change that is not."""
    strip(site)
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    site.build()
    site.article("b.md", "B", at="2024-02-01T10:00:00Z")
    return site


def documents(site: Site) -> Tree:
    """Return every document of the output, with its time."""
    return {path: file for path, file in tree(site.output).items() if "resourcesync" in path}


@pytest.mark.promise("All or nothing")
@pytest.mark.parametrize("among", ["beside the sources", "among the sources"])
@pytest.mark.parametrize("cleaned", [True, False], ids=["cleaned", "not cleaned"])
def test_builds_that_publish_nothing_leave_every_document(
    site: Site, monkeypatch: pytest.MonkeyPatch, among: str, *, cleaned: bool
) -> None:
    """Not a byte and no time of one changes, wherever the output lies and whether or not it is cleaned."""
    strip(site)
    if among == "among the sources":
        site.configure(PATH=".", ARTICLE_PATHS=["content"], PAGE_PATHS=[])
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    site.build()
    site.article("b.md", "B")
    before = documents(site)
    assert ".well-known/resourcesync" in before
    for overrides in ({"SITEURL": ""}, {"RESOURCESYNC": {"enabled": False}}):
        site.build(DELETE_OUTPUT_DIRECTORY=cleaned, **overrides)
        assert documents(site) == before
    for name, value in (("CONTEXT", "deploy-preview"), ("GITHUB_EVENT_NAME", "pull_request")):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            site.build(DELETE_OUTPUT_DIRECTORY=cleaned)
        assert documents(site) == before
    assert (site.output / "b.html").exists()


def test_preview_has_no_publication_of_its_own(published: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into an empty output no document is written; nobody is asked what is live."""
    monkeypatch.setenv("CONTEXT", "deploy-preview")
    published.build(OUTPUT_PATH=str(published.folder / "preview"), RESOURCESYNC={"previous": "live"})
    assert {path for path in tree(published.folder / "preview") if "resourcesync" in path} == set()


@pytest.mark.parametrize("options", [["--autoreload"], ["--autoreload", "--listen"]], ids=["reload", "listen"])
def test_previews_of_pelican_publish_nothing(published: Site, options: list[str]) -> None:
    """Each build of drafts has one line; what is published stays as it is, and the live host is not asked."""
    before = documents(published)
    port = str(closed_port())
    served_at = ["--port", port] if "--listen" in options else []
    with live(status(500), proxy=True) as host, (published.folder / "log").open("wb") as log:
        settings = ["-e", 'RESOURCESYNC={"previous": "live"}', 'SITEURL="http://museum.test"']
        command = [sys.executable, "-u", "-m", "pelican", *settings, *options, *served_at]
        environment = {**os.environ, "http_proxy": host.url}
        with subprocess.Popen(
            command, cwd=published.folder, env=environment, stdout=log, stderr=log, start_new_session=True
        ) as process:
            try:
                assert _eventually(published.output / "b.html")
                for _ in range(60):  # it may not watch yet
                    published.article("c.md", "C")
                    if _eventually(published.output / "c.html", seconds=1):
                        break
                assert (published.output / "c.html").exists()
                assert not served_at or _served(port) == before["resourcesync/publication.json"][0]
                assert _eventually(published.output / ".well-known/resourcesync")  # the build is done
            finally:
                os.killpg(process.pid, signal.SIGTERM)
        assert host.asked() == {}
    assert documents(published) == before
    said = [line for line in (published.folder / "log").read_text().splitlines() if "ResourceSync" in line]
    line = f"because {PREVIEW}: the documents in {published.output} are from an earlier build"
    assert len(said) >= 2
    assert {line in each for each in said} == {True}
    assert "Error" not in (published.folder / "log").read_text()


def _served(port: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/resourcesync/publication.json", timeout=10) as answer:
        return bytes(answer.read())


def test_pages_that_were_built_again(published: Site) -> None:
    """As by `make html` after `make publish`: a line says so, and so does a check of the folder."""
    assert our_command(published.folder, "check", "output").returncode == 0
    (said,) = [each for each in run(published, "-e", 'SITEURL=""')[1].splitlines() if "ResourceSync" in each]
    why = f"nothing is published, because {NO_ADDRESS}: the documents in {published.output} are from an earlier build"
    assert said.startswith(f"ResourceSync: {why}")
    done = our_command(published.folder, "check", "output", check=False)
    assert done.returncode == 1
    assert "https://example.org/a.html" in done.stdout


def _eventually(file: Path, seconds: int = 30) -> bool:
    """Wait until a file is there, for at most so many seconds."""
    for _ in range(20 * seconds):
        if file.exists():
            return True
        time.sleep(0.05)
    return False
