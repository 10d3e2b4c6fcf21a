"""The command `status`: of a site, of a set, of a URL, and what the next build would do."""

import json
import re
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.site.configuration import read_configuration
from pelican_resourcesync.site.predecessors import predecessors
from tests.commands.support import URL, as_public, told
from tests.support.live import files, live, status
from tests.support.sites import Site


def test_status_of_a_site(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON say the same of the output that the settings name."""
    found = json.loads(told(capsys, "status", "--json"))
    head = published.git("rev-parse", "HEAD")
    assert found["target"] == str(published.output)
    [one] = found["publication"]["sets"]
    assert (one["name"], one["siteurl"], one["commit"]) == ("site", URL, head)
    assert one["resources"] == len(published.resources())
    assert one["changes"] == len(published.changes())
    assert found["next_build"] == {
        "action": "carry forward",
        "why": "",
        "generation": 1,
        "news": {"head": head, "commits": 0, "why": ""},
    }
    text = told(capsys, "status")
    assert f"resources:     {one['resources']}\n" in text
    assert "2024-01-01T00:00:00Z to 2024-02-01T00:00:00Z: 1\n" in text
    assert f"{URL}/.well-known/resourcesync: is the Source Description\n" in text
    assert "next build:    carry forward generation 1\n" in text
    assert f"HEAD is {head}; 0 new commits to publish\n" in text
    published.commit("2024-03-01T12:00:00Z")
    assert "; 1 new commit to publish\n" in told(capsys, "status", "output")


def test_status_of_several_sets(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a block and costs by its own settings; what they share comes last."""
    sets = {"site": {}, "texts": {"types": ["text/html"], "dumps": True, "archives": {"resourcedump": 3}}}
    published.configure(RESOURCESYNC={"sets": sets, "previous": "output"})
    published.build()
    capsys.readouterr()
    found = json.loads(told(capsys, "status", "--json"))
    status, costs = found["publication"], found["costs"]
    assert [each["name"] for each in status["sets"]] == ["site", "texts"]
    assert [each["generation"] for each in status["sets"]] == [2, 1]
    assert status["capability_lists"] == [f"{URL}/resourcesync/{name}/capabilitylist.xml" for name in ("site", "texts")]
    assert {name: each["dumps.resourcedump"]["asked"] for name, each in costs.items()} == {"site": False, "texts": True}
    archives = costs["texts"]["archives.resourcedump"]
    assert (archives["asked"], archives["most"]) == (3, 3 * costs["texts"]["dumps.resourcedump"]["each"])
    texts = status["sets"][1]
    assert texts["sizes"]["resourcedump packages"]["number"] == 1
    lengths = [len(file.read_bytes()) for file in published.output.rglob("*.html") if "resourcesync" not in file.parts]
    assert (texts["resources"], texts["volume"]["resources"]) == (len(lengths), sum(lengths))
    one, other, rest = told(capsys, "status").split("\n\n")
    assert re.match(r"set: +site\ngeneration: +2\n", one)
    assert re.match(r"set: +texts\ngeneration: +1\n", other)
    assert "dumps.resourcedump (off): at most" in one
    assert "archives.resourcedump (3): at most" in other
    assert "resourcedump packages\n" in other
    assert re.match(rf"site: +{URL}\nsets: +{URL}/resourcesync/site/", rest)
    assert f"bytes:         {status['total_size']:,} in all\n" in rest
    assert "next build:    carry forward generation 2" in rest


def test_status_of_a_url(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Of anybody's site; where there is none it is 1, and where nobody answers 2."""
    with live(files(published.output)) as site:
        found = json.loads(told(capsys, "status", site.url, "--json"))
        assert found["publication"]["siteurl"] == URL
        assert found["publication"]["well_known"]["right"] is True
        assert found["costs"].keys() == {"site"}
        site.manner = status(404)
        assert "there is no publication at" in told(capsys, "status", site.url, exits=1)
        site.manner = status(500)
        assert "500" in told(capsys, "status", site.url, exits=2)


def test_what_is_not_known_is_not_guessed(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without settings, or with those of another site, nobody knows the next build."""
    output = str(published.output)
    monkeypatch.chdir(tmp_path)
    text = told(capsys, "status", output)
    assert "next build:    not known: there is no settings file pelicanconf.py" in text
    assert "a Resource Dump of them" in text
    assert "dumps." not in text
    told(capsys, "status", exits=2)
    told(capsys, "status", "nowhere", exits=2)
    monkeypatch.chdir(published.folder)
    published.configure(SITEURL="https://other.example")
    assert "belongs to another site, https://other.example" in told(capsys, "status", output)
    assert "next build:    stop: the previous publication is of" in told(capsys, "status")
    published.configure(SITEURL="")
    assert "next build:    publish nothing: SITEURL is empty in pelicanconf.py: name" in (
        said := told(capsys, "status")
    )
    assert "name the settings file of the published site (--settings publishconf.py)" in said
    published.write("pelicanconf.py", "1 / 0")
    assert "ZeroDivisionError" in told(capsys, "status", exits=2)
    assert "ZeroDivisionError" in told(capsys, "status", output)


def test_forecasts(
    published: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would stop a build, or let it begin, is told, and what git does not tell is not."""

    def forecast(exits: int = 0, **settings: object) -> str:
        published.configure(RESOURCESYNC=settings)
        return told(capsys, "status", exits=exits).partition("next build:    ")[2]

    with live(files(published.output)) as site:
        as_public(monkeypatch, site)
        assert forecast(previous="none").startswith("start over: the publication starts over")
    assert forecast(previous="elsewhere").startswith("stop: `previous` is 'elsewhere'")
    assert forecast(enabled=False).startswith("publish nothing: it is not enabled")
    published.git("checkout", "-q", "--orphan", "rewritten")
    published.commit("2024-03-01T12:00:00Z")
    assert "the number of new commits is not known: the published commit is not in this branch" in forecast()
    (published.output / "resourcesync").rename(tmp_path / "away")
    assert "publish for the first time\ncommits:       HEAD is" in forecast(exits=1)
    assert "not known: 'history' is 'none'" in forecast(exits=1, history="none")
    (published.folder / ".git").rename(tmp_path / "git")
    assert "is in no git repository" in forecast(exits=1)


def test_a_shallow_clone_does_not_tell(published: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many commits are new is beyond where it begins."""
    published.git("clone", "-q", "--depth", "1", f"file://{published.folder}", str(tmp_path / "clone"))
    published.output.rename(tmp_path / "clone/output")
    text = told(capsys, "status", "--settings", str(tmp_path / "clone/pelicanconf.py"))
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
    assert f"HEAD is {head}; 1 new commit to publish" in told(capsys, "status")


def test_a_damaged_repository_does_not_tell(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is told."""
    first = published.git("rev-list", "HEAD").splitlines()[-1]
    (published.folder / ".git/objects" / first[:2] / first[2:]).unlink()
    text = told(capsys, "status")
    assert "next build:    carry forward generation 1\n" in text
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
