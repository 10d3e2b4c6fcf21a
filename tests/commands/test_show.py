"""The command `show`: of a site, of several sets, and of a URL."""

import json
import re
from pathlib import Path

import pytest

from pelican_resourcesync.publication import ChangeHistory
from tests.commands.conftest import URL, output_of
from tests.kit.live import files, live, status
from tests.kit.publications import Source, utc
from tests.kit.sites import Site
from tests.publication.kinds.pages.sites import publish


def test_show_a_site(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON say the same of the output that the settings name."""
    found = json.loads(output_of(capsys, "show", "--json"))
    head = published.git("rev-parse", "HEAD")
    assert found["target"] == str(published.output)
    [one] = found["publication"]["sets"]
    assert (one["name"], one["siteurl"], one["commit"]) == ("site", URL, head)
    overview = one["overview"]
    assert overview["total"]["number"] == len(published.resources())
    kinds = ("created", "updated", "deleted")
    assert sum(each[kind] for each in overview["ranges"] for kind in kinds) == len(published.changes())
    text = output_of(capsys, "show")
    assert text.startswith(f"{URL}\n  resources    {overview['total']['number']} of ")
    assert re.search(r"\n  2024-01-01  to 2024-02-01 +1 created +0 updated +0 deleted\n", text)
    assert f"{URL}/.well-known/resourcesync is the Source Description\n" in text
    assert "\n  dumps " not in text
    assert output_of(capsys, "show", "--settings", "pelicanconf.py") == text


def test_show_several_sets(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a block, which says what its packages take; what they share comes last."""
    sets = {"site": {}, "texts": {"types": ["text/html"], "dumps": True, "archives": {"resourcedump": 3}}}
    published.configure(RESOURCESYNC={"sets": sets, "previous": "output"})
    published.build()
    capsys.readouterr()
    found = json.loads(output_of(capsys, "show", "--json"))
    status = found["publication"]
    assert [each["name"] for each in status["sets"]] == ["site", "texts"]
    assert [each["generation"] for each in status["sets"]] == [2, 1]
    assert status["capability_lists"] == [f"{URL}/resourcesync/{name}/capabilitylist.xml" for name in ("site", "texts")]
    texts = status["sets"][1]
    package = next(published.output.glob("resourcesync/texts/resourcedump-*.zip"))
    assert texts["packages"] == {"number": 1, "size": package.stat().st_size}
    lengths = [len(file.read_bytes()) for file in published.output.rglob("*.html") if "resourcesync" not in file.parts]
    assert texts["overview"]["total"] == {"number": len(lengths), "size": sum(lengths)}
    text = output_of(capsys, "show")
    one, other = text.split(f"{URL}: set ")[1:]
    assert one.startswith("site\n")
    assert other.startswith("texts\n")
    assert re.search(r"\n  dumps        1 package of [\d.]+ kB, with those in archives\n", other)
    assert "packages" not in one
    assert re.search(r"\n  Resource Dump +resourcesync/texts/resourcedump\.xml +1 package of ", other)
    assert len(re.findall(rf"\n  Capability List +{URL}/", other)) == 2


def test_show_a_url(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Of anybody's site; where there is none it is 1, and where nobody answers 2."""
    with live(files(published.output)) as site:
        found = json.loads(output_of(capsys, "show", site.url, "--json"))["publication"]
        assert (found["siteurl"], found["well_known"]["right"]) == (URL, True)
        assert found["sets"] == json.loads(output_of(capsys, "show", "--json"))["publication"]["sets"]
        site.manner = status(404)
        nothing = f"pelican-resourcesync: there is no publication at {site.url}: publish the site first\n"
        assert output_of(capsys, "show", site.url, exits=1) == nothing
        site.manner = status(500)
        assert "500" in output_of(capsys, "show", site.url, exits=2)


def test_only_what_is_asked_for_is_read(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target needs no settings and runs none."""
    output = str(published.output)
    published.write("pelicanconf.py", "1 / 0")
    output_of(capsys, "show", output)
    assert "ZeroDivisionError" in output_of(capsys, "show", exits=2)
    monkeypatch.chdir(tmp_path)
    output_of(capsys, "show", exits=2)
    assert "the folder nowhere does not exist: build the site, or" in output_of(capsys, "show", "nowhere", exits=2)


def test_long_tables_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 24 rows, with the number of all; a set that has started over says so, and a time in the future, too."""
    source = publish(tmp_path, 30)
    text = output_of(capsys, "show", str(tmp_path))
    assert "\nChanges (the first 24 of 30)\n" in text
    assert len(re.findall(r"\d created ", text)) == 24
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({}, "2999-01-01T12:00", None, restarted_from=source.previous())
    text = output_of(capsys, "show", str(tmp_path))
    assert (
        "2999-01-01T12:00:00Z, which is in the future: publish once with RESOURCESYNC_FIRST=1 in the environment"
        in text
    )
    assert ", started over\n" in text


def test_what_is_not_known_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time of the last change where there has been none, the well-known URI without a Source Description."""
    source = Source(tmp_path, siteurl=f"{URL}/project")
    source.publish({}, ChangeHistory(built=utc("2024-03-01T12:00")))
    (tmp_path / "resourcesync/description.xml").unlink()
    text = output_of(capsys, "show", str(tmp_path))
    assert "  last change  not known\n" in text
    assert f"{URL}/.well-known/resourcesync not known, which is outside the site because SITEURL has a path\n" in text
    assert "  Capability List  not known\n" in text
    (tmp_path / "resourcesync/publication.json").write_bytes(b"{}")
    assert "is damaged" in output_of(capsys, "show", str(tmp_path), exits=1)
