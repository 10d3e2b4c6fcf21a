"""The command `announce`: which pages, when, how often, and what it says where it cannot."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pelican_resourcesync.delivery import announce
from pelican_resourcesync.delivery.announce import PublishedSite
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Resource
from tests.delivery.announce.conftest import KEY, Site
from tests.kit.live import files, live
from tests.kit.live import status as live_status
from tests.kit.publications import SITEURL, Source
from tests.kit.sites import ROOT, our_command
from tests.publishers.folder.conftest import page


@pytest.mark.promise("Announced")
def test_pages_that_changed(site: Site) -> None:
    """HTML and PDF alone, created, updated or deleted by this publication, each once; the first one announces none."""
    first = "Nothing to announce: this is the first publication, which search engines find through the sitemap.\n"
    assert site.announce() == first
    assert KEY not in {Path(path).stem for path in site.listed()}
    assert (site.www / f"{KEY}.txt").read_bytes() == KEY.encode()
    site.release({"a/index.html": page("AA"), "feed.xml": "<rss>", "f.woff2": b"1", "x.pdf": b"%PDF-"}, "b.html")
    assert site.announce() == f"Announced to {site.endpoint}: 3 pages (1 created, 1 deleted, 1 updated).\n"
    assert site.told() == ["a/", "b.html", "x.pdf"]
    site.release({"feed.xml": "<rss >"})
    assert site.announce() == "Nothing to announce: no page has changed.\n"
    assert site.announce("--since", "2") == "Nothing to announce: no page has changed.\n"
    site.release({"index.html": page("Hi"), "a/index.html": page("AAA")})
    dry = site.announce("--since", "1", "--dry-run")
    assert dry == f"updated {site.url}/\nupdated {site.url}/a/\ndeleted {site.url}/b.html\ncreated {site.url}/x.pdf\n"
    assert not site.engine.told
    for since, paths in (
        ("1", ["", "a/", "b.html", "x.pdf"]),
        ("3", ["", "a/"]),
        ("2026-02-15", ["", "a/"]),
        ("2026-02-02T10:00:00Z", ["", "a/"]),
        ("2025-12-31T00:00:00Z", ["", "a/", "b.html", "x.pdf"]),
    ):
        site.announce("--since", since)
        assert site.told() == paths, since
    unknown = "--since 0 is not a known generation of the set site: use one from 1 to 4, or a time\n"
    assert site.announce("--since", "0", status=2).endswith(unknown)
    assert (
        "'soon' is neither a valid time, such as"
        in our_command(site.base, "announce", ".", "--since", "soon", check=False).stderr
    )


@pytest.mark.promise("Content")
def test_pages_of_which_the_content_changed(site: Site) -> None:
    """A footer is no news, nor are hidden pages and later pages of a listing; what becomes hidden is, once."""
    hidden = '<meta name="robots" content="noindex">'
    site.release({f"{name}.html": page(name) for name in ("a", "h", "page2", "secret")})
    site.release(
        {
            "a.html": page("a", footer="2027"),
            "h.html": page("h", head=hidden),
            "page2.html": page("other"),
            "new.html": page("new", head=hidden),
            "secret.html": page("secrets"),
        }
    )
    site.announce()
    assert site.told() == ["h.html", "secret.html"]
    site.announce("--all-bytes")
    assert site.told() == ["a.html", "h.html", "new.html", "page2.html", "secret.html"]
    site.release({"h.html": page("hh", head=hidden)}, "new.html")
    assert site.announce() == "Nothing to announce: no page has changed.\n"


def test_later_pages_of_listings(tmp_path: Path) -> None:
    """Pelican's `{name}{number}.html` is one, unless it is an article or there is no page before it."""
    source = Source(tmp_path)
    titles = {"part.html": "Part", "part2.html": "Part 2"}
    listings = ["c/index.html", "c/2/index.html", "tag/ice.html", "tag/ice2.html", "tag/ice3.html", "tag/py3.html"]
    for day in (1, 2, 3):
        source.publish(
            [
                Resource(
                    f"{SITEURL}/{path.removesuffix('index.html')}",
                    source.write(path, page(f"{day}").encode()),
                    title=titles.get(path, ""),
                )
                for path in (*titles, *(listings if day < 3 else ()))
            ],
            f"2026-01-0{day}T12:00",
            allow_deletions=True,
        )
        changed = [uri.removeprefix(SITEURL) for uri in PublishedSite(str(tmp_path)).changed()]
        expected = ["/c/", "/part.html", "/part2.html", "/tag/ice.html", "/tag/py3.html"]
        assert changed == (expected if day > 1 else [])


def test_more_than_half_of_all_pages(site: Site) -> None:
    """Where so many pages change at once, search engines are told only if the user says so, and hubs in any case."""
    names = [f"{name}.html" for name in "cdefghijklm"]
    site.release({name: page(name) for name in names})
    site.release({name: page(f"new {name}") for name in names})
    assert "more than half of 14 pages changed at once, so no search engine was notified" in site.announce(status=3)
    assert not site.engine.told
    site.announce("--yes")
    assert site.told() == names


def test_by_url(site: Site) -> None:
    """What is live is announced without the folder, with the key given."""
    site.release({"b.html": page("BB")})
    assert "the IndexNow key is not known: add --key\n" in site.announce(target=site.url, status=2)
    site.announce("--key", KEY, target=site.url)
    assert site.told() == ["b.html"]
    shutil.rmtree(site.www)
    said = site.announce("--key", KEY, target=site.url, status=2)
    assert f"no publication was found in {site.url} (" in said
    assert "): publish the site first\n" in said
    assert "no publication was found in .: publish the site first\n" in site.announce(target=".", status=2)


def test_sets(site: Site) -> None:
    """The changes of all sets of a site are announced once, also where none is called `site`."""
    site.configure(f'indexnow_key = "{KEY}"\n[sets.pages]\ntypes = ["text/html"]\n[sets.a]\npaths = ["a"]')
    site.release({})
    site.release({"a/index.html": page("AA"), "b.html": page("BB")})
    site.announce()
    assert site.told() == ["a/", "b.html"]


def test_deleted_pages_of_clean_urls(site: Site) -> None:
    """A page that is gone has no media type: an address without an extension is one of a page."""
    site.configure(f'indexnow_key = "{KEY}"\nallow_deletions = true\nclean_urls = true')
    site.release({"news.html": page("News"), "photo.png": b"png"})
    site.release({}, "news.html", "photo.png")
    site.announce()
    assert site.told() == ["news"]


def test_first_edition(site: Site) -> None:
    """Change Lists of the first edition date their changes by `lastmod`."""
    site.configure(f'indexnow_key = "{KEY}"\nedition = 2014')
    site.release({"a/index.html": page("AA")})
    site.release({"b.html": page("BB")})
    site.announce()
    assert site.told() == ["b.html"]


@pytest.mark.promise("Announced")
def test_deployment_takes_time(site: Site) -> None:
    """It waits until the publication of the folder is live, or one that continues it."""
    site.release({"b.html": page("BB")}, deploy=False)
    later = threading.Timer(0.4, site.deploy)
    later.start()
    begin = time.monotonic()
    site.host.asked()
    site.announce("--wait", "30s")
    assert time.monotonic() - begin > 0.4
    assert site.host.asked()["resourcesync/publication.json"] < 12
    later.join()
    assert site.told() == ["b.html"]
    shutil.copytree(site.public, site.base / "old")
    site.release({"b.html": page("BBB")})
    site.announce(target="old")
    assert site.told() == ["b.html"]


@pytest.mark.promise("Announced")
@pytest.mark.parametrize("case", ["never", "rolled back", "elsewhere", "down"])
def test_not_live(site: Site, case: str) -> None:
    """What is live is said, and how to catch up; nothing is announced. Later that announces all of it."""
    if case == "rolled back":
        site.release({"b.html": page("BB")})
        shutil.copytree(site.www, site.base / "old")
    site.release({"a/index.html": page("AA")}, deploy=case == "rolled back")
    if case == "rolled back":
        shutil.rmtree(site.www)
        (site.base / "old").rename(site.www)
    if case == "elsewhere":
        state = site.www / "resourcesync/publication.json"
        state.write_text(state.read_text().replace("generation", "generation "))
    if case == "down":
        shutil.rmtree(site.www)
    said = site.announce("--wait", "1s", status=3)
    month, generation = (3, 3) if case == "rolled back" else (2, 2)
    live_now = {
        "never": ", but generation 1 of 2026-01-02T10:00:00Z",
        "rolled back": ", but generation 2 of 2026-02-02T10:00:00Z",
        "elsewhere": " (resourcesync/publication.json is damaged ('generation' is missing): ",
        "down": " (",
    }[case]
    assert said.startswith(
        f"pelican-resourcesync: nothing was announced: {site.url}/resourcesync/publication.json is not "
        f"generation {generation} of 2026-0{month}-02T10:00:00Z{live_now}"
    )
    again = f"announce public --since 2026-0{month - 1}-02T10:00:00Z --endpoint {site.endpoint}"
    assert said.endswith(f"to announce the rest later, run pelican-resourcesync {again}\n")
    assert not site.engine.told
    site.deploy()
    site.release({"index.html": page("Hi")})
    site.announce("--since", str(generation - 1))
    assert site.told() == ["", "a/"]


def test_key_file(site: Site) -> None:
    """A key file that is missing or wrong, live or in the folder, is said before anything is announced."""
    site.release({"b.html": page("BB"), "security-notes.txt": "not a key"})
    site.announce()
    assert site.told() == ["b.html"]
    file = site.www / f"{KEY}.txt"
    file.write_text("another")
    assert f"{site.url}/{KEY}.txt must contain only the key: set indexnow_key, then publish and dep" in site.announce(
        status=3
    )
    file.unlink()
    assert f"the key file is not live ({site.url}/{KEY}.txt: not found (404 Not Found)): set" in site.announce(status=3)
    (site.public / f"{KEY}.txt").unlink()
    assert (
        "public has no IndexNow key file: set indexnow_key, then publish and deploy the site, or add --key"
        in site.announce(status=2)
    )
    for each in (KEY, "abcdefgh"):
        (site.public / f"{each}.txt").write_text(f"{each}\n")
    assert "public has several IndexNow key files: remove all but one, or add --key" in site.announce(status=2)
    assert not site.engine.told


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "400 Bad Request: it does not understand the request: check that its URL is right"),
        (403, "403 Forbidden: it does not accept the key: the key file must be public at {} and contain only the key"),
        (422, "the URLs are not on the site of the key file {}, or the key belongs to another site: check --key"),
        (301, "301 Moved Permanently: check that its URL is right"),
    ],
)
def test_refused(site: Site, status: int, advice: str) -> None:
    """What the documentation of a status asks for is said, once, and how to catch up."""
    site.release({"b.html": page("BB")})
    site.engine.first = [(status, {"Location": "/elsewhere"} if status == 301 else {})]
    said = site.announce(status=3)
    assert advice.format(f"{site.url}/{KEY}.txt") in said
    again = f"announce public --since 2026-01-02T10:00:00Z --endpoint {site.endpoint}"
    assert said.endswith(f"to announce the rest later, run pelican-resourcesync {again}\n")
    assert site.engine.refused == [status]


def test_later(site: Site) -> None:
    """202 is as good as 200; after 429 it waits as long as it is asked to, and after other failures a little."""
    site.release({"b.html": page("BB")})
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    site.engine.first = [(429, {"Retry_After": "1"}), (503, {"Retry_After": soon}), (500, {}), (202, {})]
    begin = time.monotonic()
    site.announce()
    assert time.monotonic() - begin > 1
    assert site.told() == ["b.html"]
    site.engine.first = [(429, {"Retry_After": "86400"})]
    assert "429 Too Many Requests, and asks to wait 86,400 seconds\n" in site.announce(status=3)
    site.engine.first = [(500, {})] * 4
    assert "the server answered 500 Internal Server Error\n" in site.announce(status=3)
    site.endpoint = "http://127.0.0.1:9/indexnow"
    assert "0 of 1 pages were announced: http://127.0.0.1:9/indexnow: " in site.announce(status=3)


@pytest.mark.promise("Announced")
def test_25001_urls(site: Site, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Three requests; one that stops in the middle says how far it came, and nothing is announced twice in a run.

    With --long 25,001; else a hundredth of that, with a limit that is a hundredth of what IndexNow asks.
    """
    assert announce.MOST_URLS == 10_000
    most = 10_000 if pytestconfig.getoption("--long") else 100
    monkeypatch.setattr(announce, "MOST_URLS", most)
    number = 5 * most // 2 + 1
    site.release({f"p{each}.html": b"1" for each in range(number)})
    said = site.announce()
    assert said == f"Announced to {site.endpoint}: {number:,} pages ({number:,} created).\n"
    assert [len(some) for some in site.engine.told] == [most, most, most // 2 + 1]
    assert len(set(site.told())) == number
    site.engine.first = [(200, {}), (400, {})]
    assert site.announce(status=3).startswith(f"pelican-resourcesync: {most:,} of {number:,} pages were announced: ")


def test_wrong_key(site: Site) -> None:
    """A key that search engines would not accept is refused by name."""
    for key in ("short", "with space in it", "ä" * 9, "x" * 129):
        site.configure(f"indexnow_key = {json.dumps(key)}")
        expected = r"indexnow_key in resourcesync\.toml must be 8 to 128 letters \(a-z, A-Z\), digits and '-', not '.*'"
        assert re.fullmatch(expected, site.stops())


def test_lists_of_another_publication(site: Site) -> None:
    """A Change List that is not the one of its publication is not believed."""
    site.release({"b.html": page("BB")})
    *_, file = sorted(site.public.glob("resourcesync/site/changelist-2*.xml"))
    file.write_bytes(file.read_bytes() + b"\n")
    assert f"{file.relative_to(site.public)} does not match publication.json: deploy" in site.announce(status=2)


def test_after_a_takedown(site: Site) -> None:
    """What `forget` lists as deleted is its only change; the generations before it are where they were."""
    site.release({"a/index.html": page("AA")})
    our_command(site.base, "forget", f"{site.url}/b.html", "--output", "public")
    site.deploy()
    site.announce()
    assert site.told() == ["b.html"]
    site.announce("--since", "1")
    assert site.told() == ["a/", "b.html"]


def test_sets_of_different_ages(site: Site) -> None:
    """A generation could be that of any set, so what is told to catch up is a time, and no change is lost or added."""
    site.release({"index.html": page("Hi")})
    site.configure(f'indexnow_key = "{KEY}"\n[sets.site]\n[sets.a]\npaths = ["a"]')
    site.release({})
    site.release({"a/index.html": page("AA")})
    site.engine.first = [(403, {})]
    said = site.announce(status=3)
    assert "announce public --since 2026-02-02T10:00:00Z" in said
    site.announce("--since", "2026-02-02T10:00:00Z")
    assert site.told() == ["a/"]
    said = site.announce("--since", "2", status=2)
    assert "--since 2: each of the 2 sets has its own generations, so use a time\n" in said


def test_generations_to_come(site: Site) -> None:
    """A number that is no generation yet is refused."""
    site.release({"b.html": page("BB")})
    assert "Nothing to announce: no page has changed.\n" in site.announce("--since", "2")
    unknown = "--since 3 is not a known generation of the set site: use one from 1 to 2"
    assert unknown in site.announce("--since", "3", status=2)


def test_the_command_that_catches_up(site: Site) -> None:
    """It can be run as it is printed, with the options of the run that failed."""
    site.release({"b.html": page("BB")})
    shutil.copytree(site.public, site.base / "my output")
    for target, options in (("my output", []), (site.url, ["--key", KEY])):
        site.engine.first = [(422, {})]
        said = site.announce(*options, target=target, status=3)
        (command,) = re.findall(r"to announce the rest later, run pelican-resourcesync (.*)\n", said)
        assert our_command(site.base, *shlex.split(command)).stdout.startswith(f"Announced to {site.endpoint}: 1 page ")
        assert site.told() == ["b.html"]


def test_site_that_moved(tmp_path: Path) -> None:
    """The pages of its former address are listed as deleted, and are not its own to announce."""
    former, now = "https://former.example", "https://now.example"
    pages = {"a/index.html": b"A", "b.html": b"B"}
    Source(tmp_path, siteurl=former).publish(pages, "2026-01-05T12:00")
    Source(tmp_path, siteurl=now).publish(pages, "2026-02-05T12:00", moved_from=former)
    made = dict.fromkeys([f"{now}/a/index.html", f"{now}/b.html"], ChangeKind.CREATED)
    assert PublishedSite(str(tmp_path)).changed() == made


def test_a_copy_elsewhere(site: Site) -> None:
    """A publication at a URL does not make us ask another host for anything, or announce pages there."""
    site.release({"b.html": page("BB")})
    with live(files(site.www)) as copy:
        site.host.asked()
        said = site.announce("--key", KEY, target=copy.url, status=2)
    assert f"the publication at {copy.url} belongs to {site.url}: announce that URL\n" in said
    assert not site.host.asks
    assert not site.engine.told
    site.announce("--key", KEY, target=f"{site.url}/")
    assert site.told() == ["b.html"]


def test_a_site_that_is_down(site: Site) -> None:
    """That may pass, so it is no wrong usage."""
    site.host.manner = live_status(503)
    said = site.announce("--key", KEY, target=site.url, status=3)
    assert "the server answered 503 Service Unavailable" in said


def test_an_endpoint_that_is_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without a host, and a path where nothing is, are not asked again."""
    monkeypatch.setattr(announce, "_BACKOFF", 60.0)
    site.release({"b.html": page("BB")})
    host = site.endpoint.removesuffix("/indexnow")
    for endpoint, why in (("http://nowhere.invalid/", "no such host"), (host, "not found (404 Not Found)")):
        site.endpoint, site.engine.first = endpoint, [(404, {})]
        assert f"{why}: check that its URL is right\n" in site.announce(status=3)
    site.endpoint = "nowhere"
    assert "--endpoint must be an http(s) URL, not 'nowhere'\n" in site.announce(status=2)


def test_stopped(site: Site) -> None:
    """Ctrl+C says how far it came, and how to catch up."""
    site.release({"b.html": page("BB")})
    site.engine.first = [(429, {"Retry_After": "60"})]
    command = [sys.executable, "-m", "pelican_resourcesync", "announce", "public", "--endpoint", site.endpoint]
    environment = {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=site.base, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as process:
        while not site.engine.refused:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 3
    assert "0 of 1 pages were announced: stopped\n" in said
    assert "to announce the rest later, run " in said
