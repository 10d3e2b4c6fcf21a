"""The command `forget`: takedowns in real sites, and what remains to be done."""

import json
from pathlib import Path

import pytest

from tests.commands.support import URL, as_public, told
from tests.support.follower import Follower
from tests.support.live import files, live
from tests.support.servers import public_files, served
from tests.support.sites import Site


def test_a_takedown_in_a_real_site(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Forgotten, taken out, built again: followers lose it, nothing names it, and all else is as it was."""
    with served(published.output) as address:
        follower = Follower(address, URL)
        assert not follower.baseline()
        text = told(capsys, "forget", f"{URL}/two-titles.html")
        assert f"Forgotten: {URL}/two-titles.html\n" in text
        assert f"below {URL}/resourcesync/site/2/" in text
        assert f"upload {published.output}, and delete" in text
        assert named(published.output, "two-titles") == ["resourcesync/site/2/changelist-20240201T000000Z.xml"]
        assert not follower.incremental()
        assert f"{URL}/two-titles.html" not in follower.held
        assert not follower.audit()
        again = told(capsys, "forget", f"{URL}/two-titles.html")
        assert again == "Nothing was written: generation 2 lists these URIs only as deleted.\n"
        published.remove("content/two.md")
        published.commit("2024-03-05T12:00:00Z")
        published.build()
        state = json.loads((published.output / "resourcesync/publication.json").read_bytes())
        assert (state["generation"], state["start"]) == (3, 2)
        assert named(published.output, "two-titles") == ["resourcesync/site/2/changelist-20240201T000000Z.xml"]
        assert not follower.incremental()
        assert not follower.audit()
        assert follower.held.keys() == {f"{URL}/{path}" for path in public_files(published.output)}
        assert b"resourcesync/site/2/capabilitylist.xml" in follower.held[f"{URL}/one-title.html"]


def named(output: Path, text: str) -> list[str]:
    """Return the documents of an output that have a text in them, as often as they do."""
    files = [each for folder in ("resourcesync", ".well-known") for each in (output / folder).rglob("*")]
    counts = {each: each.read_bytes().count(text.encode()) for each in files if each.is_file()}
    return [each.relative_to(output).as_posix() for each, count in sorted(counts.items()) for _ in range(count)]


def test_unknown_uris_are_unusable(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest are named, and nothing is written."""
    before = (published.output / "resourcesync/publication.json").read_bytes()
    said = told(capsys, "forget", f"{URL}/two-titels.html", exits=2)
    assert f"did you mean {URL}/two-titles.html" in said
    assert (published.output / "resourcesync/publication.json").read_bytes() == before


def test_forget_tells_programs(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON: what was forgotten, of which set, and where what is published now lies."""
    uri = f"{URL}/one-title.html"
    found = json.loads(told(capsys, "forget", uri, "--json"))
    site = found["forgotten"]["site"]
    assert (found["output"], found["whole"], site["uris"]) == (str(published.output), True, [uri])
    assert (site["generation"], site["home"]) == (2, f"{URL}/resourcesync/site/2/")
    assert (site["resources"], site["changes"], site["ranges"]) == (1, 2, 1)
    again = json.loads(told(capsys, "forget", uri, "--json"))["forgotten"]["site"]
    assert (again["uris"], again["generation"]) == ([], 2)


def test_forget_in_a_folder_alone(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then no settings are read, and what cannot be gone on from is said."""
    monkeypatch.chdir(tmp_path)
    published.write("pelicanconf.py", "1 / 0")
    assert "no folder" in told(capsys, "forget", "--output", "nowhere", f"{URL}/one-title.html", exits=2)
    (tmp_path / "empty").mkdir()
    assert "so there is nothing to forget" in told(
        capsys, "forget", "--output", "empty", f"{URL}/one-title.html", exits=2
    )
    told(capsys, "forget", "--output", str(published.output), f"{URL}/one-title.html")
    assert len(named(published.output, "one-title")) == 1
    assert "A site over ResourceSync" in (published.output / "resourcesync/index.html").read_text("utf-8")


def test_forget_needs_an_address_and_the_same(
    published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A settings file for writing has none; and a site that has moved is to be published first."""
    published.configure(SITEURL="")
    assert "SITEURL is empty in" in told(capsys, "forget", f"{URL}/one-title.html", exits=2)
    published.configure(SITEURL="https://other.example", RESOURCESYNC={"moved_from": URL})
    assert "the previous publication is of" in told(capsys, "forget", f"{URL}/one-title.html", exits=2)
    with live(files(published.output)) as site:
        as_public(monkeypatch, site)
        published.configure(SITEURL=URL, RESOURCESYNC={"previous": "none"})
        anew = ["--output", "new", "--settings", "pelicanconf.py"]
        assert "there is no publication" in told(capsys, "forget", f"{URL}/one-title.html", *anew, exits=2)


def test_what_is_public_is_gone_on_from(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into an empty output go documents alone; into one that is ahead, what it was built to be."""
    public = tmp_path / "public"
    published.output.rename(public)
    published.configure(RESOURCESYNC={"previous": str(public)})
    text = told(capsys, "forget", f"{URL}/one-title.html")
    assert f"upload only the folders .well-known and resourcesync of {published.output}, and delete" in text
    assert len(named(published.output, "one-title")) == 1
    assert not public_files(published.output)
    published.article("three.md", title="Three titles")
    published.commit("2024-03-05T12:00:00Z")
    published.build()
    text = told(capsys, "forget", f"{URL}/two-titles.html")
    assert f"upload {published.output}, and" in text
    assert named(published.output, "three-titles")
    (published.output / "resourcesync/publication.json").write_text("{}")
    assert "upload only the folders .well-known" in told(capsys, "forget", f"{URL}/two-titles.html")


def test_a_build_before_it_is_public_goes_on_from_it(
    published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is live still names it: what is kept beside the settings file does not."""
    with live(files(published.output)) as site:
        as_public(monkeypatch, site)
        published.configure(RESOURCESYNC={"previous": "live"})
        public = published.output.with_name("public")
        published.build()
        published.output.rename(public)
        site.manner = files(public)
        told(capsys, "forget", f"{URL}/one-title.html")
        kept = published.folder / ".resourcesync/live"
        assert len(named(kept, "one-title")) == 1
        assert "carry forward generation 2: the live site is back at generation 1" in told(capsys, "show")
        published.remove("content/one.md")
        published.commit("2024-03-05T12:00:00Z")
        published.build()
        assert len(named(published.output, "one-title")) == 1
