"""The command `forget`: takedowns in real sites, and what remains to be done."""

import json
import shutil
from pathlib import Path

import pytest

from tests.commands.conftest import URL, as_public, output_of
from tests.kit.follower import Follower
from tests.kit.live import files, live, served
from tests.kit.sites import Site, public_files


def test_a_takedown_in_a_real_site(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Forgotten, taken out, built again: followers lose it, nothing names it, and all else is as it was."""
    with served(published.output) as address:
        follower = Follower(address, URL)
        assert not follower.baseline()
        text = output_of(capsys, "forget", f"{URL}/two-titles.html")
        assert f"Forgotten: {URL}/two-titles.html\n" in text
        assert f"below {URL}/resourcesync/site/2/" in text
        assert f"upload {published.output} and delete" in text
        assert named(published.output, "two-titles") == ["resourcesync/site/2/changelist-20240201T000000Z.xml"]
        assert not follower.incremental()
        assert f"{URL}/two-titles.html" not in follower.held
        assert not follower.audit()
        again = output_of(capsys, "forget", f"{URL}/two-titles.html")
        assert again == "Nothing was written: generation 2 already lists these URIs only as deleted.\n"
        published.remove("content/two.md", at="2024-03-05T12:00:00Z")
        published.build()
        state = json.loads((published.output / "resourcesync/publication.json").read_bytes())
        assert (state["generation"], state["restart_number"]) == (3, 2)
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
    said = output_of(capsys, "forget", f"{URL}/two-titels.html", exits=2)
    assert f"did you mean {URL}/two-titles.html" in said
    assert (published.output / "resourcesync/publication.json").read_bytes() == before


def test_forget_needs_the_address_of_the_site(
    published: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The settings for a preview have none, and the message says which settings to pass instead."""
    preview = tmp_path / "preview.py"
    preview.write_text(f"PATH = {str(tmp_path)!r}\nOUTPUT_PATH = {str(published.output)!r}\n", "utf-8")
    said = output_of(capsys, "forget", f"{URL}/two-titles.html", "--settings", str(preview), exits=2)
    assert f"SITEURL is empty in {preview}: pass the settings file that is used to publish (--settings)" in said


def test_forget_tells_programs(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON: what was forgotten, of which set, and where what is published now lies."""
    uri = f"{URL}/one-title.html"
    found = json.loads(output_of(capsys, "forget", uri, "--json"))
    site = {"uris": [uri], "generation": 2, "home": f"{URL}/resourcesync/site/2/"}
    assert found == {"output": str(published.output), "forgotten": {"site": site}, "dry_run": False}
    again = json.loads(output_of(capsys, "forget", uri, "--json"))["forgotten"]["site"]
    assert (again["uris"], again["generation"]) == ([], 2)


def test_forget_in_a_folder_alone(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then no settings are read, and what cannot be gone on from is said."""
    monkeypatch.chdir(tmp_path)
    published.write("pelicanconf.py", "1 / 0")
    assert "nowhere does not exist" in output_of(
        capsys, "forget", "--output", "nowhere", f"{URL}/one-title.html", exits=2
    )
    (tmp_path / "empty").mkdir()
    assert "empty contains no publication: build the site first" in output_of(
        capsys, "forget", "--output", "empty", f"{URL}/one-title.html", exits=2
    )
    output_of(capsys, "forget", "--output", str(published.output), f"{URL}/one-title.html")
    assert len(named(published.output, "one-title")) == 1
    assert "What&#39;s new at A site" in (published.output / "resourcesync/index.html").read_text("utf-8")


def test_only_the_latest_publication(published: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is behind what a build would continue is left alone; one that is ahead is the latest."""
    behind = tmp_path / "behind"
    shutil.copytree(published.output, behind)
    published.article("three.md", title="Three titles", at="2024-03-05T12:00:00Z")
    published.build()
    public = tmp_path / "public"
    shutil.copytree(published.output, public)
    published.configure(RESOURCESYNC={"previous": str(public)})
    capsys.readouterr()
    settings = ["--settings", "pelicanconf.py", "--output"]
    said = output_of(capsys, "forget", f"{URL}/one-title.html", *settings, str(behind), exits=2)
    assert f"{behind} does not contain the latest publication, which is {public}: build the site" in said
    (tmp_path / "empty").mkdir()
    said = output_of(capsys, "forget", f"{URL}/one-title.html", *settings, str(tmp_path / "empty"), exits=2)
    assert "contains no publication" in said
    assert named(behind, "one-title")
    published.article("four.md", title="Four titles", at="2024-03-06T12:00:00Z")
    published.build()
    capsys.readouterr()
    output_of(capsys, "forget", f"{URL}/two-titles.html")
    assert len(named(published.output, "two-titles")) == 1
    assert named(published.output, "four-titles")


def test_a_build_before_it_is_public_goes_on_from_it(
    published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is live still names it: what is kept beside the settings file does not."""
    with live(files(published.output)) as site:
        as_public(monkeypatch, site)
        published.configure(RESOURCESYNC={"previous": "live"})
        public = published.output.with_name("public")
        published.build()
        shutil.copytree(published.output, public)
        site.manner = files(public)
        output_of(capsys, "forget", f"{URL}/one-title.html")
        kept = published.folder / ".resourcesync/live"
        assert len(named(kept, "one-title")) == 1
        published.remove("content/one.md", at="2024-03-05T12:00:00Z")
        published.build()
        assert len(named(published.output, "one-title")) == 1
        assert json.loads((published.output / "resourcesync/publication.json").read_text())["generation"] == 3
