"""The command `show`: of a site, of a set, of a URL, and what the next build would do."""

import json
import re
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import ChangeHistory
from pelican_resourcesync.site.configuration import read_configuration
from pelican_resourcesync.site.predecessors import predecessors
from tests.commands.support import URL, as_public, told
from tests.publication.pages.sites import publish
from tests.publication.support import Source, utc
from tests.support.live import files, live, status
from tests.support.sites import Site


def test_show_a_site(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON say the same of the output that the settings name."""
    found = json.loads(told(capsys, "show", "--json"))
    head = published.git("rev-parse", "HEAD")
    assert found["target"] == str(published.output)
    [one] = found["publication"]["sets"]
    assert (one["name"], one["siteurl"], one["commit"]) == ("site", URL, head)
    overview = one["overview"]
    assert overview["total"]["number"] == len(published.resources())
    kinds = ("created", "updated", "deleted")
    assert sum(each[kind] for each in overview["ranges"] for kind in kinds) == len(published.changes())
    assert found["estimates"] is None
    assert found["next_build"] == {
        "action": "carry forward",
        "why": "",
        "generation": 1,
        "news": {"head": head, "commits": 0, "why": ""},
    }
    text = told(capsys, "show")
    assert text.startswith(f"{URL}\n  resources    {overview['total']['number']} of ")
    assert re.search(r"\n  2024-01-01  to 2024-02-01 +1 created +0 updated +0 deleted\n", text)
    assert f"{URL}/.well-known/resourcesync is the Source Description\n" in text
    assert "Next build\n  action   carry forward generation 1\n" in text
    assert f"HEAD is {head}; 0 new commits to publish\n" in text
    published.commit("2024-03-01T12:00:00Z")
    assert "; 1 new commit to publish\n" in told(capsys, "show", "output", "--settings", "pelicanconf.py")
    assert "Next build" not in told(capsys, "show", "output")


def test_show_several_sets(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a block and costs by its own settings; what they share comes last."""
    sets = {"site": {}, "texts": {"types": ["text/html"], "dumps": True, "archives": {"resourcedump": 3}}}
    published.configure(RESOURCESYNC={"sets": sets, "previous": "output"})
    published.build()
    capsys.readouterr()
    found = json.loads(told(capsys, "show", "--json", "--estimates"))
    status, costs = found["publication"], found["estimates"]
    assert [each["name"] for each in status["sets"]] == ["site", "texts"]
    assert [each["generation"] for each in status["sets"]] == [2, 1]
    assert status["capability_lists"] == [f"{URL}/resourcesync/{name}/capabilitylist.xml" for name in ("site", "texts")]
    assert {name: each["dumps.resourcedump"]["asked"] for name, each in costs.items()} == {"site": False, "texts": True}
    archives = costs["texts"]["archives.resourcedump"]
    assert (archives["asked"], archives["most"]) == (3, 3 * costs["texts"]["dumps.resourcedump"]["each"])
    texts = status["sets"][1]
    assert texts["sizes"]["resourcedump packages"]["number"] == 1
    lengths = [len(file.read_bytes()) for file in published.output.rglob("*.html") if "resourcesync" not in file.parts]
    assert texts["overview"]["total"] == {"number": len(lengths), "size": sum(lengths)}
    text = told(capsys, "show", "--estimates")
    one, other = text.split(f"{URL}: set ")[1:]
    assert one.startswith("site\n")
    assert other.startswith("texts\n")
    assert re.search(r"\n  dumps\.resourcedump +off +at most ", one)
    assert re.search(r"\n  archives\.resourcedump +3 +at most [^\n]* for each closed range, [^\n]* in all\n", other)
    assert re.search(r"\n  archives\.changelist +all +about [^\n]* for each closed range, all are kept\n", other)
    assert re.search(r"\n  resourcedump packages +1 +", other)
    assert re.search(r"\n  Resource Dump +resourcesync/texts/resourcedump\.xml +1 package of ", other)
    assert len(re.findall(rf"\n  Capability List +{URL}/", other)) == 2
    assert "carry forward generation 2" in other
    assert "Estimates" not in told(capsys, "show")


def test_show_a_url(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Of anybody's site; where there is none it is 1, and where nobody answers 2."""
    with live(files(published.output)) as site:
        found = json.loads(told(capsys, "show", site.url, "--estimates", "--json"))
        assert found["publication"]["siteurl"] == URL
        assert found["publication"]["well_known"]["right"] is True
        assert found["estimates"].keys() == {"site"}
        assert found["next_build"] is None
        assert (
            found["publication"]["sets"]
            == json.loads(told(capsys, "show", "--estimates", "--json"))["publication"]["sets"]
        )
        site.manner = status(404)
        assert told(capsys, "show", site.url, exits=1) == f"there is no publication at {site.url}\n"
        site.manner = status(500)
        assert "500" in told(capsys, "show", site.url, exits=2)


def test_only_what_is_asked_for_is_read(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target needs no settings and runs none; those of another site are refused."""
    output = str(published.output)
    published.write("pelicanconf.py", "1 / 0")
    told(capsys, "show", output)
    assert "ZeroDivisionError" in told(capsys, "show", exits=2)
    published.configure(SITEURL="https://other.example")
    message = f"pelican-resourcesync: {output} has what is published at {URL}, but pelicanconf.py is for https://other"
    assert told(capsys, "show", output, "--settings", "pelicanconf.py", exits=2).startswith(message)
    assert "action  stop: the previous publication is of" in told(capsys, "show")
    published.configure(SITEURL="")
    assert (
        "publish nothing: SITEURL is empty in pelicanconf.py: name the settings file of the published site "
        "(--settings publishconf.py)\n"
    ) in told(capsys, "show")
    monkeypatch.chdir(tmp_path)
    told(capsys, "show", exits=2)
    assert "nowhere is neither a folder nor a URL" in told(capsys, "show", "nowhere", exits=2)


def test_long_tables_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 24 rows, with the number of all; a set that has started over says so, and a time in the future, too."""
    source = publish(tmp_path, 30)
    text = told(capsys, "show", str(tmp_path))
    assert "\nChanges (the first 24 of 30)\n" in text
    assert len(re.findall(r"\d created ", text)) == 24
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({}, "2999-01-01T12:00", None, over=source.previous())
    text = told(capsys, "show", str(tmp_path))
    assert "2999-01-01T12:00:00Z, which is in the future: see `previous` 'none', generation" in text
    assert "restarted 1 time\n" in text


def test_what_is_not_known_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time of the last change where there has been none, the well-known URI without a Source Description."""
    source = Source(tmp_path, siteurl=f"{URL}/project")
    source.publish({}, ChangeHistory(built=utc("2024-03-01T12:00")))
    (tmp_path / "resourcesync/description.xml").unlink()
    text = told(capsys, "show", str(tmp_path))
    assert "  last change  not known\n" in text
    assert f"{URL}/.well-known/resourcesync not known, outside the site, because SITEURL has a path\n" in text
    assert "  Capability List  not known\n" in text
    (tmp_path / "resourcesync/publication.json").write_bytes(b"{}")
    assert "is damaged" in told(capsys, "show", str(tmp_path), exits=1)


def test_forecasts(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would stop a build, or let it begin, is told, and what git does not tell is not."""

    def forecast(exits: int = 0, **settings: object) -> str:
        published.configure(RESOURCESYNC=settings)
        return told(capsys, "show", exits=exits).partition("Next build\n  action  ")[2].strip()

    with live(files(published.output)) as site:
        as_public(monkeypatch, site)
        assert forecast(previous="none").startswith("start over: the publication starts over")
    assert forecast(previous="elsewhere").startswith("stop: `previous` is 'elsewhere'")
    assert forecast(enabled=False).startswith("publish nothing: it is not enabled")
    published.git("checkout", "-q", "--orphan", "rewritten")
    published.commit("2024-03-01T12:00:00Z")
    assert "the number of new commits is not known: the published commit is not in this branch" in forecast()
    (published.output / "resourcesync").rename(tmp_path / "away")
    assert "publish for the first time\n  commits  HEAD is" in forecast(exits=1)
    assert "not known: 'history' is 'none'" in forecast(exits=1, history="none")
    (published.folder / ".git").rename(tmp_path / "git")
    assert "is in no git repository" in forecast(exits=1)


def test_a_shallow_clone_does_not_tell(published: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many commits are new is beyond where it begins."""
    published.git("clone", "-q", "--depth", "1", f"file://{published.folder}", str(tmp_path / "clone"))
    published.output.rename(tmp_path / "clone/output")
    text = told(capsys, "show", "--settings", str(tmp_path / "clone/pelicanconf.py"))
    assert "not known: the repository is a shallow clone" in text


def test_commits_of_the_repository_that_was_published(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the sources are a submodule, it may be the one that holds it."""
    outer = Site(tmp_path / "outer", dict(published.settings))
    outer.folder.mkdir()
    outer.git("init", "-q", "-b", "main")
    outer.git("config", "user.name", "A writer")
    outer.git("config", "user.email", "writer@example.org")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(published.folder), "sources")
    outer.configure(PATH="sources/content", THEME="sources/theme")
    outer.commit("2024-03-01T12:00:00Z")
    outer.build()
    monkeypatch.chdir(outer.folder)
    head = outer.commit("2024-04-01T12:00:00Z")
    assert f"HEAD is {head}; 1 new commit to publish" in told(capsys, "show")


def test_a_damaged_repository_does_not_tell(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is told."""
    first = published.git("rev-list", "HEAD").splitlines()[-1]
    (published.folder / ".git/objects" / first[:2] / first[2:]).unlink()
    text = told(capsys, "show")
    assert "  action   carry forward generation 1\n" in text
    assert "the number of new commits is not known: git cannot read the history of" in text


@pytest.mark.parametrize("where", ["PlainOutput", "PredecessorSearch.find"])
def test_a_disk_that_fails_is_one_sentence(published: Site, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Wherever it does."""

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(f"pelican_resourcesync.site.predecessors.{where}", fail)
    site = read_configuration(published.folder / "pelicanconf.py")
    with pytest.raises(PublicationError, match="Input/output error"), predecessors(site, published.output):
        pass
