"""The command line: real sites, real processes, and the exits that scripts rely on."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pelican_resourcesync import __version__
from pelican_resourcesync.cli import main, parser
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.site.configuration import predecessors, read_configuration
from pelican_resourcesync.transport import STANDARD_BOUNDS, Bounds, Web
from tests.support.follower import Follower
from tests.support.live import Live, files, live, status
from tests.support.servers import public_files, served
from tests.support.sites import ROOT, Site, strip

DOCS = (ROOT / "docs/commands.md").read_text("utf-8")
URL = "https://example.org"


def run(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pelican_resourcesync", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def published(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Give a site of two articles and two commits, published, with its folder as the current one."""
    strip(site)
    site.article("one.md", title="One title")
    site.commit("2024-01-05T12:00:00Z")
    site.article("two.md", title="Two titles")
    site.commit("2024-02-05T12:00:00Z")
    site.build()
    monkeypatch.chdir(site.folder)
    return site


def told(capsys: pytest.CaptureFixture[str], *arguments: str, exits: int = 0) -> str:
    """Run the command in this process and give what it says on standard output, or on standard error for an exit 2."""
    assert main(arguments) == exits
    out, err = capsys.readouterr()
    assert bool(err) == (exits == 2), err
    assert bool(out) == (exits != 2), out
    if err:
        assert re.fullmatch(r"pelican-resourcesync: [^\n]+\n", err)
    return err or out


# What the docs say


def verbs() -> Mapping[str, argparse.ArgumentParser]:
    """Give the parser of each command."""
    (action,) = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(action.choices)


def test_every_command_is_documented_with_its_arguments() -> None:
    """The sections are the commands, and the tables their arguments, in the same order."""
    sections = re.split(r"^## `([\w-]+)`$", DOCS, flags=re.MULTILINE)[1:]
    documented = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(documented) == list(verbs())
    for name, verb in verbs().items():
        table = documented[name].partition("| argument |")[2].partition("\n\n")[0]
        rows = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
        assert rows == [_shown(each) for each in verb._actions if each.dest != "help"]
        for line in re.findall(rf"^    pelican-resourcesync {name}(.*)$", documented[name], re.MULTILINE):
            verb.parse_args(line.split())
    assert "--version" in DOCS


def _shown(action: argparse.Action) -> str:
    names = [*action.option_strings, *([str(action.metavar)] if action.metavar else [])]
    return " ".join(names)


def test_every_exit_is_documented() -> None:
    """The table of exits is the one in the code."""
    from pelican_resourcesync import cli

    exits = re.findall(r"^\| `(\d)` \|", DOCS, re.MULTILINE)
    assert exits == [str(each) for each in (cli.DONE, cli.PROBLEMS, cli.UNUSABLE, cli.INCOMPLETE)]
    assert f"`{cli.SETTINGS}`" in DOCS


# The process


def test_exits_of_the_process(published: Site) -> None:
    """0 done, 1 problems found, 2 wrong usage or unusable input; one sentence and no traceback."""
    version = run("--version", cwd=published.folder)
    assert (version.returncode, version.stdout) == (0, f"pelican-resourcesync {__version__}\n")
    done = run("status", cwd=published.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "next build" in done.stdout
    (published.output / "resourcesync/site/resourcelist.xml").write_bytes(b"another")
    damaged = run("status", "output", "--json", cwd=published.folder)
    assert (damaged.returncode, damaged.stderr) == (1, "")
    assert "is damaged" in json.loads(damaged.stdout)["problem"]
    unusable = run("forget", "https://example.org/one.html", "--settings", "none.py", cwd=published.folder)
    assert (unusable.returncode, unusable.stdout) == (2, "")
    assert re.fullmatch(r"pelican-resourcesync: there is no settings file none\.py: .*\n", unusable.stderr)


@pytest.mark.parametrize("arguments", [[], ["unheard-of"], ["status", "--unheard-of"], ["forget"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, with the usage, and exits with 2."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: pelican-resourcesync" in capsys.readouterr().err


def test_help_of_backfill_says_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Code of the past, with the user's permissions."""
    with pytest.raises(SystemExit):
        main(["backfill", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Backfill runs code of the past: the settings files, plug-ins and themes of all commits that it builds" in said
    )
    assert "run it in a container" in said


def test_progress_is_for_terminals(
    published: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never on standard output, which a pipe may take."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["status", "output", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["problem"] is None
    assert "pelican-resourcesync: inspecting output" in err


# status


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


def test_status_of_one_set_is_lines_with_names(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """In one block; what is estimated is said to be."""
    text = told(capsys, "status")
    assert "\n\n" not in text
    names = re.findall(r"^([a-z -]+): ", text, re.MULTILINE)
    assert names == [
        *("site", "generation", "commit", "at", "sets", "resources", "changes", "archived", "bytes", "well-known"),
        *("estimates", "next build", "commits"),
    ]
    assert re.search(r"^archived:      1 changelist$", text, re.MULTILINE)
    assert re.search(r"^ {15}[\d,]+ changelist \(3\)$", text, re.MULTILINE)


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
    with live(files(published.output)) as site:
        there = json.loads(told(capsys, "status", site.url, "--json"))["publication"]
    assert (there["sets"], there["sizes"]) == (status["sets"], status["sizes"])


def test_documented_keys_are_those_of_the_json(published: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of `status --json` and of `forget --json` name every key, in the order in which they come."""
    found = json.loads(told(capsys, "status", "--json"))
    done = json.loads(told(capsys, "forget", f"{URL}/one-title.html", "--json"))
    [one] = found["publication"]["sets"]
    tables = [
        ("key", found),
        ("key of `publication`", found["publication"]),
        ("key of a set", one),
        ("key of `volume`", one["volume"]),
        ("key of a cost", found["costs"]["site"]["dumps.changedump"]),
        ("key", done),
        ("key of a set", done["forgotten"]["site"]),
    ]
    documented = re.findall(r"^\| (key[^|]*) \|[^\n]*\n\|[-|]+\n(.*?)\n\n", DOCS, re.MULTILINE | re.DOTALL)
    assert [(head, re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)) for head, rows in documented] == [
        (head, list(keys)) for head, keys in tables
    ]


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
    assert "next build:    publish nothing: SITEURL is empty" in told(capsys, "status")
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
        assert forecast(previous="none").startswith("begin anew: the publication starts over")
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

    monkeypatch.setattr(f"pelican_resourcesync.site.configuration.{where}", fail)
    site = read_configuration(published.folder / "pelicanconf.py")
    with pytest.raises(PublicationError, match="Input/output error"), predecessors(site, published.output):
        pass


# forget


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
    """Give the documents of an output that have a text in them, as often as they do."""
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
        assert "carry forward generation 2: the live site is back at generation 1" in told(capsys, "status")
        published.remove("content/one.md")
        published.commit("2024-03-05T12:00:00Z")
        published.build()
        assert len(named(published.output, "one-title")) == 1


def as_public(monkeypatch: pytest.MonkeyPatch, site: Live) -> None:
    """Let a site on loopback answer for the one that is published."""

    class Public(Web):
        def __init__(self, base: str, bounds: Bounds = STANDARD_BOUNDS) -> None:
            super().__init__(base.replace(URL, site.url), bounds)

    monkeypatch.setattr("pelican_resourcesync.publication.previous.search.Web", Public)
