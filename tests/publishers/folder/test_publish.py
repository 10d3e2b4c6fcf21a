"""The command `publish`: what it lists of a folder, what changed, and what it refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import pelican_resourcesync as library
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.folder import dry_run_folder, publish, read_folder_settings
from tests.kit.folders import HOME, URL, Folder, git
from tests.kit.live import files, hosts, live
from tests.kit.museum import tree
from tests.kit.publications import Source
from tests.kit.reader import parse_file
from tests.kit.sites import our_command
from tests.publishers.folder.conftest import page

At = Callable[[str], None]
LINK = f'<link rel="resourcesync" type="application/xml" href="{URL}/{HOME}/capabilitylist.xml" />\n'


@pytest.mark.promise("Any folder")
def test_first_and_next(folder: Folder, at: At) -> None:
    """The first publication dates nothing; the next ones list what the bytes say, and a rerun writes nothing."""
    at("2026-01-01T10:00:00Z")
    said = folder.run().stdout
    assert "3 resources, 0 changes in 0 Change Lists at http://manual.test/resourcesync/ in " in said
    assert said.endswith("first publication.\n")
    assert lastmods(folder) == {
        "": None,
        "about/": None,
        "style.css": None,
    }
    linked = page("About").replace("</head>", f"{LINK}</head>").encode()
    assert (folder.public / "about/index.html").read_bytes() == linked
    about = folder.listed()["about/"]
    assert about.digest == sha256(linked).hexdigest()
    assert about.md["length"] == str(len(linked))
    assert about.md["type"] == "text/html"

    at("2026-02-01T10:00:00Z")
    before = tree(folder.base)
    assert "nothing changed since the last publication" in folder.run().stdout
    assert tree(folder.base) == before

    at("2026-03-01T10:00:00Z")
    folder.rebuild({"index.html": page("Home"), "about/index.html": page("We"), "a b.pdf": b"%PDF", "style.css": "b{}"})
    for path, (data, _) in before.items():
        if path.startswith(("public/resourcesync/", "public/.well-known/")):  # as the host has them
            folder.write({path.removeprefix("public/"): data})
    folder.run()
    assert folder.changes() == [
        ("2026-03-01T10:00:00Z", "created", "a%20b.pdf"),
        ("2026-03-01T10:00:00Z", "updated", "about/"),
    ]
    assert lastmods(folder) == {
        "": None,
        "a%20b.pdf": "2026-03-01T10:00:00Z",
        "about/": "2026-03-01T10:00:00Z",
        "style.css": None,
    }
    at("2026-04-01T10:00:00Z")
    (folder.public / "style.css").unlink()
    folder.configure("allow_deletions = true")
    folder.run()
    assert folder.changes()[2:] == [("2026-04-01T10:00:00Z", "deleted", "style.css")]
    assert "conforming: 0 errors, 0 warnings" in our_command(folder.base, "check", "public", "--deep").stdout


def lastmods(folder: Folder) -> dict[str, str | None]:
    """Return the dates in the Resource List, by path."""
    return {path: each.lastmod for path, each in folder.listed().items()}


def test_what_is_no_resource(folder: Folder) -> None:
    """Not listed: names that begin with a dot, what editors and systems leave, host files, the error page, ours."""
    hidden = [".git/config", ".env", "a/.hidden/x.html", "x~", "#x#", "a/#y#", ".x.swp", "a/.DS_Store", "Thumbs.db"]
    hidden += ["a/desktop.ini", "_headers", "_redirects", "CNAME", "404.html", "drafts/one.html"]
    folder.write({path: page(path) for path in hidden})
    folder.write({".well-known/security.txt": "Contact:", "a/x.html": page("x"), "feed": "<feed/>"})
    folder.configure('exclude = ["drafts"]\nrobots = true')
    for _ in range(2):
        folder.run()
        expected = {"", "about/", "style.css", ".well-known/security.txt", "a/x.html", "feed", "robots.txt"}
        assert folder.listed().keys() == expected
    assert LINK not in (folder.public / "404.html").read_text("utf-8")


def test_files_for_hosts_and_search_engines(folder: Folder) -> None:
    """Header files and the key file are written by the settings, and again if they were changed."""
    folder.configure('link_headers = ["_headers"]\nindexnow_key = "0123456789"')
    for _ in range(2):
        folder.run()
        assert (folder.public / "0123456789.txt").read_bytes() == b"0123456789"
        assert f'/*\n  Link: <{URL}/{HOME}/capabilitylist.xml>; rel="resourcesync"' in (
            (folder.public / "_headers").read_text("utf-8")
        )
        assert folder.listed().keys() == {"", "about/", "style.css"}
        folder.write({"0123456789.txt": "another"})


def test_clean_urls(folder: Folder) -> None:
    """With `clean_urls`, pages have the URLs that such hosts answer; two files of one URL are refused."""
    folder.write({"news.html": page("News"), "data.json": "{}"})
    folder.configure("clean_urls = true")
    folder.run()
    assert folder.listed().keys() == {"", "about/", "style.css", "news", "data.json"}
    folder.write({"news": "News"})
    message = folder.stops()
    assert " have the same URI, http://manual.test/news: exclude one (exclude in resourcesync.toml)" in message
    assert {"news", "news.html"} <= set(message.replace(" and", "").split(" have ")[0].split())


def test_index_pages_by_their_files(folder: Folder) -> None:
    """For programs that cannot store a URL that ends in a slash, an `index.html` is listed by name."""
    folder.configure('index_urls = "file"\nclean_urls = true')
    folder.run()
    assert folder.listed().keys() == {"index.html", "about/index.html", "style.css"}
    assert f"<loc>{URL}/about/index.html</loc>" in (folder.public / "sitemap.xml").read_text("utf-8")
    folder.configure('index_urls = "name"')
    assert folder.stops().endswith("index_urls in resourcesync.toml must be 'folder' or 'file', not 'name'")


@pytest.mark.promise("Nothing from outside")
def test_links_out_of_the_folder(folder: Folder) -> None:
    """A link that leads out is refused by name, unless it is excluded; one inside is followed, once around."""
    (folder.base / "secret").mkdir()
    (folder.base / "secret" / "key.txt").write_text("secret")
    (folder.public / "key.txt").symlink_to("../secret/key.txt")
    (folder.public / "more").symlink_to("../secret")
    (folder.public / "broken.html").symlink_to("/nowhere/at/all")
    message = folder.stops()
    assert message == (
        f"{folder.public} has symbolic links to files outside it (broken.html, key.txt, more): replace them with "
        "copies, or exclude them (exclude in resourcesync.toml)"
    )
    folder.configure('exclude = ["key.txt", "more", "broken.html"]')
    (folder.public / "latest").symlink_to("about")
    (folder.public / "about" / "up").symlink_to("..")
    (folder.public / "style2.css").symlink_to("style.css")
    folder.run()
    assert folder.listed().keys() == {"", "about/", "latest/", "style.css", "style2.css"}
    assert (folder.base / "secret" / "key.txt").read_text("utf-8") == "secret"


def test_unreadable_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be read stops the publication: its files would be listed as deleted."""
    folder.run()
    before, scan = tree(folder.base), os.scandir

    def fail(path: Any) -> Any:
        if Path(path).name == "about":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("pelican_resourcesync.publishers.static_site.files.os.scandir", fail)
    message = folder.stops()
    monkeypatch.undo()
    assert message.startswith(f"{folder.public} is not published: Permission denied: ")
    assert message.endswith("give this user read and write access to it and its folder")
    assert tree(folder.base) == before


@pytest.mark.parametrize("robots", ["false", "true"])
def test_dry_run(folder: Folder, at: At, robots: str) -> None:
    """It says what the next run does, and no file of the working directory changes."""
    folder.write({"robots.txt": "User-agent: *\nDisallow:\n"})
    for number in range(3):
        folder.configure(f"robots = {robots if number else 'false'}")
        at(f"2026-0{number + 1}-01T10:00:00Z")
        before = tree(folder.base)
        planned = json.loads(folder.run("--dry-run", "--json").stdout)
        assert tree(folder.base) == before
        done = folder.publish()
        expected, published = planned["sets"]["site"], done["publications"]["site"]
        assert expected["first"] == published["first"] == (number == 0)
        assert expected["resources"] == published["resources"]
        assert {kind: count for kind, count in published["new"].items() if count} == expected["changes"]
        folder.write({"index.html": page(f"Home {number}"), f"{number}.html": page("more")})
    said = folder.run("--dry-run").stdout.splitlines()
    assert said[-3:] == [
        "  updated: http://manual.test/",
        "  created: http://manual.test/2.html",
        "Nothing was published.",
    ]


def test_after_a_kill(folder: Folder) -> None:
    """What a run that was killed had put aside is put back, and continued."""
    folder.run()
    stage = folder.public / ".resourcesync-killed"
    record = folder.base / ".resourcesync/.resourcesync-killed"
    record.write_text(str(folder.public), "utf-8")
    (stage / "documents" / "resourcesync").mkdir(parents=True)
    (folder.public / "resourcesync").rename(stage / "replaced")
    assert "nothing changed since the last publication" in folder.run().stdout
    assert not stage.exists()
    assert not record.exists()


@pytest.mark.promise("Yours stays yours")
def test_what_looks_like_a_killed_run_is_refused(folder: Folder, tmp_path: Path) -> None:
    """The files of a theme or of an unpacked archive are not obeyed: nothing is written, moved or removed."""
    victim = tmp_path / "victim"
    victim.mkdir()
    folder.write(
        {
            ".resourcesync-x/documents/resourcesync/site/versions/k": "k",
            "resourcesync/site/.resourcesync-added-versions/.resourcesync-removed": json.dumps([str(victim)]),
        }
    )
    before = tree(folder.public)
    assert ".resourcesync-x has a name that is reserved for temporary files" in folder.stops()
    assert tree(folder.public) == before
    assert victim.is_dir()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("sitemap.xml/x", "sitemap.xml is not a file"),
        ("robots.txt/x", "robots.txt is not a file"),
        ("_headers/x", "_headers is not a file"),
        (".nojekyll/x", ".nojekyll is not a file"),
        (".well-known/resourcesync/x", ".well-known/resourcesync is not a file"),
        (".well-known", ".well-known is not a folder"),
        (".well-known/resourcesync", "cannot be used"),
        ("resourcesync", "resourcesync is not a folder"),
        ("resourcesync/index.html", "resourcesync/index.html is where documents of the publication belong"),
        ("resourcesync/description.xml", "description.xml is where documents of the publication belong"),
        ("about/.resourcesync-x", "about/.resourcesync-x has a name that is reserved for temporary files"),
        ("é" * 120 + "/" + "é" * 120 + "/" + "é" * 110 + ".html", "is longer than 2,047 characters: rename the file"),
        ("a\nb.html", r"control characters or invalid UTF-8 in its name, 'a\nb.html'"),
        ("about\x85/b.html", r"control characters or invalid UTF-8 in its name, 'about\x85/b.html'"),
        (os.fsdecode(b"\xe9.html"), r"control characters or invalid UTF-8 in its name, '\udce9.html'"),
    ],
)
def test_what_is_in_the_way(folder: Folder, path: str, message: str) -> None:
    """It is refused before anything is written, in a dry run, too."""
    folder.configure('sitemap = true\nrobots = true\nlink_headers = ["_headers"]')
    folder.write({path: "theirs"})
    before, config = tree(folder.public), folder.base / "resourcesync.toml"
    with pytest.raises(PublicationError, match=re.escape(message)):
        publish(folder.public, base_url=URL, config=config)
    with pytest.raises(PublicationError, match=re.escape(message)):
        dry_run_folder(*read_folder_settings(folder.public, URL, config)[:2])
    assert tree(folder.public) == before


@pytest.mark.parametrize("kind", ["dangling", "loop", "pipe"])
@pytest.mark.parametrize("path", ["sitemap.xml", "_headers", ".well-known", "resourcesync"])
def test_what_is_neither_file_nor_folder(folder: Folder, path: str, kind: str) -> None:
    """It is not replaced, and nothing is written."""
    folder.configure('sitemap = true\nlink_headers = ["_headers"]')
    if kind == "pipe":
        os.mkfifo(folder.public / path)
    else:
        (folder.public / path).symlink_to(path if kind == "loop" else "nothing")
    before = {each: each.lstat().st_mtime_ns for each in folder.public.rglob("*")}
    with pytest.raises(PublicationError) as caught:
        publish(folder.public, base_url=URL, config=folder.base / "resourcesync.toml")
    assert f"{folder.public / path}" in str(caught.value)
    assert "[Errno" not in str(caught.value)
    assert {each: each.lstat().st_mtime_ns for each in folder.public.rglob("*")} == before


def test_empty_folder(folder: Folder) -> None:
    """Nothing was built, most often, so an option must say that it is right."""
    folder.configure("robots = true")
    shutil.rmtree(folder.public)
    folder.public.mkdir()
    for options in ([], ["--dry-run"]):
        assert folder.stops(*options).endswith(
            "/public has no files to publish: build the site first, or use --allow-empty"
        )
    assert tree(folder.public) == {}
    folder.run("--allow-empty")
    assert sorted(folder.listed()) == ["robots.txt"]


def test_too_many_deletions(folder: Folder) -> None:
    """A folder that was not built completely stops it, with the exit status 1 in a dry run."""
    folder.run()
    before = tree(folder.public)
    shutil.rmtree(folder.public / "about")
    (folder.public / "style.css").unlink()
    done = folder.run("--dry-run", check=False)
    assert done.returncode == 1
    assert "A safety check would stop this publication: 2 of 3 resources would be listed as deleted" in done.stdout
    assert "publish once with RESOURCESYNC_ALLOW_DELETIONS=1 in the environment" in folder.stops()
    documents = {path: each for path, each in before.items() if path.startswith("resourcesync/")}
    assert {path: each for path, each in tree(folder.public).items() if path in documents} == documents


def test_page_of_a_tiny_folder(folder: Folder) -> None:
    """One of three is deleted, and needs no permission."""
    folder.run()
    shutil.rmtree(folder.public / "about")
    assert "; 1 deleted (/about/) since the last publication." in folder.run().stdout
    assert sorted(folder.listed()) == ["", "style.css"]


@pytest.mark.promise("Any folder")
def test_live_in_clones_of_depth_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clone of one commit, with nothing but the live site, changes have the times of the commits built."""
    source, www, clone = tmp_path / "source", tmp_path / "www", tmp_path / "clone"
    source.mkdir()
    git(source, "init", "-q")
    texts = [{"a": "1", "b": "1"}, {"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}]
    with live(hosts({URL: files(www)}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for month, text in enumerate(texts, 1):
            for name, each in text.items():
                (source / name).write_text(each)
            git(source, "add", "--all")
            git(source, "commit", "-qm", "Edit", time=f"2026-0{month}-01T10:00:00Z")
            shutil.rmtree(clone, ignore_errors=True)
            git(tmp_path, "clone", "-q", "--depth=1", source.as_uri(), "clone")
            folder = Folder(clone)
            folder.update({f"{name}.html": page(each) for name, each in text.items()})
            shutil.rmtree(www, ignore_errors=True)
            shutil.copytree(folder.public, www)
    assert folder.changes() == [
        ("2026-02-01T10:00:00Z", "updated", "b.html"),
        ("2026-03-01T10:00:00Z", "created", "c.html"),
    ]
    state = json.loads((folder.public / "resourcesync/publication.json").read_bytes())
    assert state["commit"] == git(source, "rev-parse", "HEAD")
    assert git(clone, "rev-list", "--count", "HEAD") == "1"


def test_hints(folder: Folder) -> None:
    """A line says that the well-known URI is elsewhere, and another that a repository cannot be read."""
    (folder.base / ".git").mkdir()
    folder.url = f"{URL}/manual"
    lines = folder.run().stdout.splitlines()
    assert [line.partition(",")[0] for line in lines[:2]] == [
        "ResourceSync: changes get the time of this publication",
        "ResourceSync: the site's URL has a path",
    ]
    (folder.base / ".git").rmdir()
    assert [line.partition(",")[0] for line in folder.run().stdout.splitlines()[:-1]] == [
        "ResourceSync: the site's URL has a path"
    ]


def test_commit_of_the_future(folder: Folder, at: At) -> None:
    """A commit dated far ahead was made with a wrong clock: the time of the run counts."""
    git(folder.base, "init", "-q")
    git(folder.base, "commit", "-qm", "Begin", "--allow-empty", time="2038-01-01T00:00:00Z")
    at("2026-01-01T10:00:00Z")
    folder.run()
    folder.write({"index.html": page("New")})
    at("2026-02-01T10:00:00Z")
    folder.run()
    assert folder.changes() == [("2026-02-01T10:00:00Z", "updated", "")]


def test_mirrors(folder: Folder) -> None:
    """Each resource links to its duplicates, also at a clean URL."""
    folder.configure("clean_urls = true\nmirrors = [{url = 'https://m.example/manual', pri = 1}]")
    folder.update({"news.html": page("News")})
    hrefs = {path: each.links for path, each in folder.listed().items()}
    assert hrefs == {path: (("duplicate", f"https://m.example/manual/{path}"),) for path in hrefs}
    assert "news" in hrefs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'history = "all"',
            "history in resourcesync.toml applies only to sites that Pelican builds: remove it",
        ),
        (
            'on_error = "warn"',
            "on_error in resourcesync.toml applies only to sites that Pelican builds: remove it",
        ),
        ('changes_by = "tag"', "changes_by in resourcesync.toml must be 'day', 'week', 'month' or 'year', not 'tag'"),
        (
            "[sets.news]\ntags = ['x']",
            "sets.news.tags in resourcesync.toml cannot be used here, because only Pelican knows tags",
        ),
        ("folders = 1", "resourcesync.toml has no setting 'folders': did you mean 'folder'? Valid names: enabled, "),
        (
            'sitemap = "correkt"',
            "sitemap in resourcesync.toml must be true, false, 'replace' or 'correct', not 'correkt'",
        ),
        ("robots = 1 2", "resourcesync.toml is not valid TOML: "),
    ],
)
def test_wrong_settings(folder: Folder, text: str, message: str) -> None:
    """What a folder cannot have, and what is misspelt, is named, with what there is."""
    folder.configure(text)
    assert folder.stops().startswith(message)


_NAMED = '<meta property="og:site_name" content="A &amp; B">'


@pytest.mark.parametrize(
    ("titles", "settings", "shows"),
    [
        ((f"A - B</title>{_NAMED}<title>", "C"), "", "en What's new at A & B"),
        (("Home | The manual", "About | The manual", "404"), "", "en What's new at manual.test"),
        (("The manual", "About \u2014 The manual"), "", "en What's new at The manual"),
        (("Home - The manual", "About - The manual"), 'language = "fr"', "fr Quoi de neuf sur The manual"),
        (("Home", "About"), 'site_name = "Mine"\nlanguage = "it"', "en What's new at Mine"),
    ],
)
def test_whose_page_it_is(folder: Folder, titles: Sequence[str], settings: str, shows: str) -> None:
    """The name and the language are those of the front page, or of the settings; a hint says where it is English."""
    (folder.public / "about/index.html").unlink()
    folder.write({f"{number or 'index'}.html": page(text) for number, text in enumerate(titles)})
    folder.configure(settings)
    done = folder.run()
    shown = etree.parse(folder.public / "resourcesync/index.html", etree.HTMLParser()).getroot()
    assert f"{shown.get('lang')} {shown.findtext('head/title')}" == shows
    hint = "ResourceSync: the page for people is in English, because there is no translation into 'it'.\n"
    assert (hint in done.stdout) is ("it" in settings.split('"'))
    folder.write({"index.html": page("Home").replace("<html", "<html lang='de-CH'")})
    folder.run()
    assert ("Seiten" in (folder.public / "resourcesync/index.html").read_text("utf-8")) is ("language" not in settings)


@pytest.mark.parametrize("other", ["https://nothing.invalid", "http://www.nothing.invalid"])
def test_a_slip_in_the_address(folder: Folder, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """An address that differs from that in the output by its scheme or by www is noticed, even if no host answers."""
    monkeypatch.delenv("CI", raising=False)
    folder.configure(previous="live")
    first = "http://nothing.invalid"
    assert "first publication" in our_command(folder.base, "publish", "public", "--base-url", first).stdout
    done = our_command(folder.base, "publish", "public", "--base-url", other, check=False)
    assert done.stderr == (
        f"pelican-resourcesync: the previous publication is for {first}, but this one would be for {other}, so every "
        f"URI would change: restore the address, or set moved_from to '{first}' if the site has moved\n"
    )
    again = our_command(folder.base, "publish", "public", "--base-url", "https://other.invalid")
    assert "first publication" in again.stdout


def test_loopback_address(folder: Folder, tmp_path: Path) -> None:
    """It is never asked by itself; a line says so, what becomes of `moved_from`, and what helps."""
    with live(files(tmp_path / "www")) as site:
        url, words = site.url.rstrip("/"), ["publish", "public", "--base-url", site.url.rstrip("/")]
        folder.configure('moved_from = "http://localhost:1"', previous="live")
        assert (
            f"ResourceSync: {url} is a loopback address, which is never asked for a publication, and the output "
            f"has none for it: this is the first publication. To continue what is published there, set previous to "
            f"'{url}'. moved_from is ignored, because http://localhost:1 is a loopback address, too.\n"
        ) in our_command(folder.base, *words).stdout
        assert "loopback" not in our_command(folder.base, *words).stdout
        shutil.copytree(folder.public, tmp_path / "www")
        shutil.rmtree(folder.public / "resourcesync")
        folder.configure(previous=url)
        assert "nothing changed since the last publication" in our_command(folder.base, *words).stdout


def test_pages_that_were_not_rebuilt(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their links lead to the current Capability List, also after starting over and at another address."""
    folder.configure("robots = true", previous="live")
    for address, first in (("http://127.0.0.1:8105", "0"), ("http://b.invalid", "0"), ("http://b.invalid", "1")):
        monkeypatch.setenv("RESOURCESYNC_FIRST", first)
        our_command(folder.base, "publish", "public", "--base-url", address)
        named = re.search("<loc>(.*)</loc>", (folder.public / "resourcesync/description.xml").read_text())
        assert named
        assert re.fullmatch(rf"{address}/{HOME}/{'[0-9]{14}/' if first == '1' else ''}capabilitylist.xml", named[1])
        link = LINK.replace(f"{URL}/{HOME}/capabilitylist.xml", named[1])
        for name in ("index.html", "about/index.html"):
            assert re.findall("<link.*\n", (folder.public / name).read_text()) == [link]
        lines = {f"Sitemap: {named[1].replace('capability', 'resource')}", f"Sitemap: {address}/sitemap.xml"}
        assert {*(folder.public / "robots.txt").read_text().splitlines()} == lines


def test_where_and_what(folder: Folder) -> None:
    """The folder and the URL are options or settings; what is missing is named."""
    alone = our_command(folder.base, "publish", "public", check=False)
    assert alone.stderr == (
        "pelican-resourcesync: base_url in resourcesync.toml is not set: pass --base-url, or write it into that file\n"
    )
    (folder.base / "else").mkdir()
    missing = "there is no resourcesync.toml in this folder: pass FOLDER and --base-url, or create the file"
    lost = our_command(folder.base / "else", "publish", check=False)
    assert lost.stderr == f"pelican-resourcesync: {missing}\n"
    other = folder.base / "else" / "my.toml"
    content = (
        f'folder = "../public"\nbase_url = "{URL}/"\nprevious = "output"\nsite_name = "Manual"\ntimezone = "Japan"'
    )
    other.write_text(content, "utf-8-sig")  # as editors on Windows do
    our_command(folder.base, "publish", "--config", "else/my.toml")
    assert len(folder.listed()) == 3
    assert "Manual" in (folder.public / "resourcesync/index.html").read_text("utf-8")
    assert '"timezone": "Japan"' in (folder.public / "resourcesync/publication.json").read_text("utf-8")
    for options, message in (
        (["nowhere"], f"the folder {folder.base / 'nowhere'} does not exist: build the site first, or pass the "),
        (["."], f"the output folder {folder.base} contains {folder.base}, the folder of the settings, so settings, "),
        (["--config", "no.toml"], "no.toml cannot be read: No such file or directory"),
        (["--base-url", "manual.test"], "--base-url must be an absolute http(s) URL in ASCII, such as"),
    ):
        done = our_command(folder.base, "publish", "--base-url", URL, *options, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"pelican-resourcesync: {message}")


@pytest.mark.parametrize(
    ("text", "variable", "reason"),
    [
        ("enabled = false", ("HOME", str(Path.home())), "the setting 'enabled' is false"),
        ("", ("IS_PULL_REQUEST", "true"), "this is a preview (IS_PULL_REQUEST is 'true')"),
    ],
)
def test_nothing_is_published(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str, variable: tuple[str, str], reason: str
) -> None:
    """A preview of a pull request, or a folder for which that is off, is left as it was built."""
    monkeypatch.setenv(*variable)
    folder.configure(text)
    before = tree(folder.base)
    assert folder.run().stdout == f"ResourceSync: nothing is published, because {reason}.\n"
    assert tree(folder.base) == before


def test_sets(folder: Folder, at: At) -> None:
    """Sets are selected by paths and types; one that matches nothing is said, and one that ends is removed."""
    at("2026-01-01T10:00:00Z")
    folder.configure("[sets.site]\n[sets.pages]\ntypes = ['text/html']\n[sets.none]\npaths = ['nowhere/*']")
    done = folder.run()
    assert "warning: 'nowhere/*' in sets.none.paths in resourcesync.toml matches no resource" in done.stderr
    assert {name: each["resources"] for name, each in folder.publish()["publications"].items()} == {
        "site": 3,
        "pages": 2,
        "none": 0,
    }
    at("2026-02-01T10:00:00Z")
    folder.configure("[sets.site]\n[sets.pages]\ntypes = ['text/html']")
    assert "sets in resourcesync.toml no longer contains 'none', so the documents are" in folder.run().stderr
    folder.configure("[sets.site]\n[sets.none]\n[sets.pages]\ntypes = ['text/html']")
    folder.run()
    folder.configure("[sets.site]")
    assert "sets in resourcesync.toml no longer contains 'none' and 'pages'" in folder.run().stderr
    assert not (folder.public / "resourcesync/pages").exists()


@pytest.mark.parametrize(
    ("before", "after", "restarts"),
    [
        ("[sets.one]\npaths = ['s*', 'i*']\n[sets.rest]\npaths = ['*']", "", False),
        ("[sets.one]\npaths = ['s*', 'i*']", "[sets.all]", False),
        ("[sets.one]\npaths = ['s*', 'i*']", "[sets.all]", True),
        ("", "[sets.a]\npaths = ['*']\n[sets.b]\npaths = ['s*', 'i*']", False),
        ("[sets.one]\npaths = ['*']", "[sets.one]\npaths = ['*']\n[sets.b]\npaths = ['s*', 'i*']", False),
    ],
)
def test_sets_that_others_replace(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, before: str, after: str, restarts: bool
) -> None:
    """Also without a common name, and without git, they go with a warning; those of another publisher stay."""

    def publish(sets: str) -> tuple[set[str], list[str]]:
        folder.configure(sets)
        folder.write({"index.html": page("Home")})  # without the link of before
        result = library.publish(folder.public, base_url=URL, config=folder.base / "resourcesync.toml")
        uris = [each.uri for each in parse_file(folder.public / "resourcesync/description.xml").entries]
        return {uri.split("/")[4] for uri in uris}, [each for each in result.warnings if "no longer contains" in each]

    (folder.public / "about/index.html").rename(folder.public / "about.txt")
    Source(folder.public, siteurl=URL, set_name="papers").publish({}, "2026-01-01T10:00", publisher="repository")
    names = {name: {*re.findall(r"sets\.(\w+)", name)} or {"site"} for name in (before, after)}
    assert publish(before) == ({"papers", *names[before]}, [])
    if restarts:
        monkeypatch.setenv("RESOURCESYNC_FIRST", "1")
    found, warnings = publish(after)
    gone = names[before] - names[after]
    assert found == {"papers", *names[after]}
    assert len(warnings) == bool(gone)
    assert all(repr(name) in warnings[0] and not (folder.public / "resourcesync" / name).exists() for name in gone)
    monkeypatch.delenv("RESOURCESYNC_FIRST", raising=False)
    (folder.public / "about.txt").unlink()
    assert publish(after) == ({"papers", *names[after]}, [])
    assert not [*library.check(str(folder.public), deep=True).findings.groups()]


def test_pages_with_the_time_of_the_build(folder: Folder, at: At, tmp_path: Path) -> None:
    """If many pages change every time, the user is told where, among many pictures; two feeds are nothing special."""
    folder.write({f"{number}.png": "" for number in range(60)})
    (www := tmp_path / "www").mkdir()
    found = []
    with live(files(www)) as host:
        folder.url = host.url
        for month in range(1, 5):
            at(f"2026-0{month}-01T10:00:00Z")
            folder.write({f"{number}.html": page(f"Built in {month}") for number in range(12)})
            found.append(folder.run().stderr)
            if month > 2:
                (www / "0.html").write_text(page(f"Built in {month}"))
    warned = ["12 of 14 pages change on every build, for example" in said for said in found]
    assert warned == [False, False, True, True]
    assert "Its earlier text is neither in the folder nor live" in found[2]
    assert 'It first differs at "Built in 4", which was "Built in 3" on the live page.' in found[3]
    for month in range(5, 8):
        at(f"2026-0{month}-01T10:00:00Z")
        folder.write({"0.html": page(f"News of {month}"), "1.html": page(f"Feed of {month}")})
        folder.write({f"{number}.png": str(month) for number in range(16)})
        said = folder.run().stderr
        assert bool(said) == ("18 of 75 resources change on every build, for example" in said) == (month > 5)


def test_without_pelican(folder: Folder) -> None:
    """A broken installation of Pelican harms nobody who publishes a folder, checks or copies one."""
    program = (
        "import sys\nfor name in ('pelican', 'blinker'): sys.modules[name] = None\n"
        "from pelican_resourcesync.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    for arguments in (["publish", "public", "--base-url", URL], ["check", "public"], ["show", "public"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=folder.base,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_alternates(folder: Folder) -> None:
    """A page links to what its head alone names as its form in another media type, and that links back."""

    def named(*alternates: str, base: str = "") -> str:
        links = "".join(
            f"<link rel='alternate' type='text/x-any' href='{each}'>" for each in ("/feed.xml", *alternates)
        )
        return page("x").replace("</head>", f"{base}{links}</head><link rel=alternate href=body.md>")

    pages = {
        "index.html": named("index.xml", f"{URL}/a%20b.json", "b/", "missing.md", "http://other.test/c.md"),
        "b/index.html": named("index.md", "index.md#top", "index.txt?x", "../index.html", "é.txt"),
        "c.html": named("d.md", base="<base href='deep/'><!-- <link rel='alternate' href='c.md'> -->")
        + "<link rel=alternate href=c.md>",
        "d.html": page("x").replace("</head>", "<link rel='alternate stylesheet' href='style.css'></head>"),
    }
    others = ["a b.json", "b/index.md", "b/index.txt", "b/é.txt", "c.md", "d.md", "deep/d.md", "body.md", "index.xml"]
    folder.rebuild({**pages, **dict.fromkeys([*others, "feed.xml", "style.css"], "x")})
    folder.run()
    links = {path: [*each.links] for path, each in folder.listed().items() if each.links}
    of_b = ["b/index.md", "b/index.txt", "b/%C3%A9.txt"]
    assert links == {
        "": [("alternate", f"{URL}/index.xml"), ("alternate", f"{URL}/a%20b.json")],
        "b/": [("alternate", f"{URL}/{each}") for each in of_b],
        "c.html": [("alternate", f"{URL}/deep/d.md")],
        **{each: [("canonical", f"{URL}/")] for each in ("index.xml", "a%20b.json")},
        **{each: [("canonical", f"{URL}/b/")] for each in of_b},
        "deep/d.md": [("canonical", f"{URL}/c.html")],
    }
    text = (folder.public / HOME / "resourcelist.xml").read_text()
    assert f'<rs:ln rel="alternate" href="{URL}/b/index.md" type="text/markdown"/>' in text
    assert "conforming: 0 errors, 0 warnings" in our_command(folder.base, "check", "public", "--deep").stdout
