"""The documentation as a real site: built, checked, mirrored and read in a browser; its tutorial followed literally."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import html

import pelican_resourcesync
from tests.kit.browser import look_at, needs_chromium
from tests.kit.sites import ROOT, Site, import_sample_site, run_program, strip, with_stork
from tests.kit.sites import run as run_site

DOCS = ROOT / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text("utf-8")


def run(program: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> str:
    """Run one of the programs, or git, and return what it prints."""
    if program == "pelican-resourcesync":
        done = run_program(program, cwd, *arguments, COLUMNS="80", **environment)
    else:  # the site has plug-ins of its own
        command = [sys.executable, "-m", program] if program == "pelican" else [program]
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **environment}
        done = subprocess.run(
            [*command, *arguments], cwd=cwd, env=variables, check=False, capture_output=True, encoding="utf-8"
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation as `make docs` does, twice."""
    pytest.importorskip("pagefind", reason="the search of the documentation needs pagefind: pip install --group docs")
    output = tmp_path_factory.mktemp("docs")
    for news in ("first publication", "nothing changed since the last publication"):
        said = run("pelican", "--settings", "docs/site/pelicanconf.py", "--output", str(output), "--fatal", "errors")
        assert re.search(rf"ResourceSync: site: \d+ resources, .*; {news}", said)
    return output


@pytest.fixture(scope="module")
def pages(output: Path) -> dict[str, Any]:
    """Parse the pages of the documentation."""
    files = [file for file in output.rglob("*.html") if "resourcesync" not in file.relative_to(output).parts]
    return {file.relative_to(output).as_posix(): html.parse(file).getroot() for file in files}


@pytest.mark.promise("Documented")
def test_it_follows_the_standard_and_a_copy_is_exact(output: Path, tmp_path: Path) -> None:
    """Its sets are the whole site, and the pages in its one language."""
    assert "conforming: 0 errors, 0 warnings" in run("pelican-resourcesync", "check", "--deep", "--strict", str(output))
    copy = str(tmp_path / "copy")
    assert "Complete" in run("pelican-resourcesync", "mirror", str(output), copy)
    assert "matches the Source" in run("pelican-resourcesync", "audit", str(output), copy)
    shown = json.loads(run("pelican-resourcesync", "show", str(output), "--json"))["publication"]["sets"]
    site, english = (each["overview"] for each in shown)
    # Where a package begins depends on the hashes in the names of search files, and so on every word of the pages.
    assert site["dump"]["number"] >= english["dump"]["number"] == 1
    assert english["types"].keys() == {"text/html"}
    assert english["total"]["number"] == len(list(DOCS.glob("*.md"))) + len(list((DOCS / "decisions").glob("*.md")))
    assert any(path.startswith("pagefind/") for path in _files(Path(copy)))


def _files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_every_document_is_in_a_section(pages: dict[str, Any]) -> None:
    """Each has a page, and the index or that of the decisions links to it."""
    listed = {*links(pages["index.html"]), *links(pages["decisions.html"])}
    assert {page for page in pages if page != "index.html"} <= listed
    titles = [each.text for each in pages["index.html"].findall(".//h2")]
    assert titles == ["Tutorial", "How-to guides", "Reference", "Explanation", "For developers"]
    assert pages["glossary.html"].xpath("string(//p[@class='section'])") == "Explanation"


def test_each_page_leads_to_the_next(pages: dict[str, Any]) -> None:
    """From the front page, which says what this is, to the last decision, and back."""
    assert "Search engines, mirrors and archives" in pages["index.html"].xpath("string(//main/p[1])")
    path, seen = "index.html", ["index.html"]
    while turn := pages[path].xpath("//a[@rel='next']"):
        path = os.path.normpath(Path(path).parent / turn[0].get("href"))
        (back,) = pages[path].xpath("//a[@rel='prev']/@href")
        assert os.path.normpath(Path(path).parent / back) == seen[-1]
        seen.append(path)
    assert sorted(seen) == sorted(pages)
    assert seen[1] == "tutorial.html"
    assert turn == pages["index.html"].xpath("//a[@rel='prev']") == []


def test_reference_of_the_code(pages: dict[str, Any]) -> None:
    """It has all that the package exports, as the docstrings describe it, with the options of the commands."""
    page = pages["api.html"]
    named = {*page.xpath("//h3/code/text()")}
    assert {*pelican_resourcesync.__all__} - named == {"__version__", "register"}
    text = page.text_content()
    assert "mirror(source: str," in text
    assert "    keep: int = 1," in text
    assert "    max_size: int = 10000000000," in text
    assert "def publish(" in text
    assert "Return the changes of a Source since a cursor; without one, begin with all its resources" in text
    assert "0x" not in text  # where something was in memory
    assert not re.search(r"^- |\s- \w+: ", page.xpath("string(//main)"))  # an item of a list that is not one
    described = page.xpath("//h3[code='Following']/following-sibling::ul[1]/li/code[1]/text()")
    assert described == ["cursor", "notes", "foreign", "close"]
    assert "pelican_resourcesync." not in page.xpath("string(//main/h2[1]/following-sibling::div[1])")


def links(page: Any) -> set[str]:
    """Return the relative links in the text of a page, without anchors."""
    return {str(each).partition("#")[0] for each in page.xpath("//main//a/@href") if "://" not in each}


@pytest.mark.promise("Documented")
def test_every_link_and_anchor_exists(output: Path, pages: dict[str, Any]) -> None:
    """Of each page to each page, written for a forge and rewritten for the site."""
    anchors = {path: set(map(str, page.xpath("//@id"))) for path, page in pages.items()}
    for path, page in pages.items():
        assert len(page.xpath("//@id")) == len(anchors[path]), path  # a heading has not the id of the search
    checked = 0
    for path, page in pages.items():
        for link in map(str, page.xpath("//@href | //@src")):
            if "://" in link or link.startswith(("data:", "mailto:")):
                continue
            target, _, anchor = unquote(link).partition("#")
            file = os.path.normpath(output / Path(path).parent / target) if target else str(output / path)
            assert Path(file).is_file(), f"{path}: {link}"
            name = Path(file).relative_to(output).as_posix()
            assert not anchor or anchor in anchors[name], f"{path}: {link}"
            checked += 1
    assert checked > 1_000


_SEARCH = """
    const query = inside.getElementById("query");
    query.value = "WORD"; query.dispatchEvent(new Event("input"));
    for (let tries = 0; tries < 200 && !inside.querySelector("#results li"); tries++)
      await new Promise(done => setTimeout(done, 50));
    const wide = [...inside.querySelectorAll(".table")].filter(each => each.scrollWidth > each.clientWidth);
    return [...inside.querySelectorAll("#results a")].map(each => new URL(each.href).pathname)
      .concat(wide.map(each => "wide: " + each.innerText.slice(0, 40)));
"""


@needs_chromium
@pytest.mark.parametrize(
    ("path", "width", "dark"),
    [("settings.html", 320, True), ("index.html", 768, False), ("decisions.html", 1280, False)],
)
def test_in_a_browser(output: Path, path: str, width: int, *, dark: bool) -> None:
    """The search finds pages, nothing overflows, nothing leaves the host, and axe finds no violation."""
    seen = look_at(output, path, width, dark=dark, doing=_SEARCH.replace("WORD", "takedown"))
    assert seen.errors == []
    assert "error" not in seen.answer
    assert seen.answer["overflow"] <= 0
    assert seen.answer["broken"] == []
    assert seen.answer["violations"] == []
    assert "/page/takedown.html" in seen.answer["done"]
    assert not [each for each in seen.answer["done"] if each.startswith("wide: ")]


@needs_chromium
def test_pages_for_developers_come_last(output: Path) -> None:
    """In the search, guides come before a decision that has the word in its title."""
    found = look_at(output, "index.html", 1280, doing=_SEARCH.replace("WORD", "exchange")).answer["done"]
    assert set(found[:2]) == {"/page/mirror-publish.html", "/page/publication.html"}
    assert "/page/decisions/0008-atomic-exchange.html" in found
    developers = [bool(re.search("decisions|promises|performance|conformance|architecture", each)) for each in found]
    assert developers == sorted(developers)


@pytest.mark.promise("Documented")
def test_the_tutorial_is_followed_literally(tmp_path: Path) -> None:
    """Its files are written where it says, and each command prints what it shows, except for times and commits."""
    if version("pelican").startswith("4.11."):
        pytest.skip("this Pelican writes other pages than those whose sizes the tutorial shows")
    files = re.findall(
        r"`([\w./]+)`[^\n`]*:\n\n```\w+\n(.*?)```|`(\.gitignore)`.*?```text\n(.*?)```", TUTORIAL, re.DOTALL
    )
    texts = {one or other: text or rest for one, text, other, rest in files}
    assert [*texts] == ["content/hello.md", "pelicanconf.py", ".gitignore", "content/again.md"]
    names = {f"GIT_{who}_{what}": "writer@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    last = texts.pop("content/again.md")
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    commands = re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", TUTORIAL, re.MULTILINE)
    assert len(commands) == 12
    for number, (command, expected) in enumerate(commands):
        if number == 6:  # the second `git add`
            (tmp_path / "content/again.md").write_text(last, "utf-8")
        printed = masked(run(*re.sub('"', "", command).split(maxsplit=4), cwd=tmp_path, **names)).splitlines()
        for line in masked(expected).splitlines():
            if line != "    …":
                assert line[4:] in printed, command
                printed = printed[printed.index(line[4:]) + 1 :]


def masked(text: str) -> str:
    """Mask the times in a text."""
    text = re.sub(r"\d{4}-\d\d-\d\d([T ]\d[\d:.]+Z?)?", "TIME", text)
    return re.sub(r" +$", "", re.sub(r"\d+\.\d+ (s\b|seconds)", "N", text), flags=re.MULTILINE)


# --- The README followed literally: its commands are run on the sample site, and print what it shows


README = (ROOT / "README.md").read_text("utf-8")


def sessions() -> list[tuple[list[str], str]]:
    """Return the commands of the README after a `$`, each with what it prints."""
    lines = [line[4:] for line in README.splitlines() if line.startswith("    ")]
    found: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:].removeprefix("uvx ").split(), []))
        elif found and not line.startswith(("python ", "pipx ")):
            found[-1][1].append(line)
    return [(command, "\n".join(printed)) for command, printed in found]


def plain(text: str) -> str:
    """Leave out times and line ends, which differ from run to run."""
    return " ".join(re.sub(r"\d+\.\d+ (s\b|seconds)", "N s", text).split())


@pytest.mark.promise("Documented")
def test_the_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    """The sample site is published as another generator would build it; then it is built, and mirrored twice."""
    site = import_sample_site(tmp_path / "site")
    run_program("pelican", site.folder, "--output", "public", "-e", "PLUGINS=[]")
    site.write("resourcesync.toml", 'previous = "output"\n')
    with (site.folder / "pelicanconf.py").open("a") as conf:
        conf.write("RESOURCESYNC = {'previous': 'output'}\n")  # no request leaves this machine
    for name in ("user.name", "user.email"):
        site.git("config", name, "keeper@museum.example")
    site.git("commit", "-q", "--all", "--amend", "--no-edit", GIT_COMMITTER_DATE="2024-11-05T08:40:00Z")
    commands = sessions()
    assert len(commands) == 5
    for command, printed in commands:
        done = run_program(command[0], site.folder, *command[1:], COLUMNS="80")
        assert done.returncode == 0, done.stderr
        expected = "\n".join(line for line in printed.splitlines() if ": this is the first publication" not in line)
        assert plain(done.stdout) == plain(expected)


@pytest.mark.parametrize("plugins", [None, ["resourcesync", "pelican_resourcesync"]])
def test_pelican_finds_the_plugin_by_itself(site: Site, tmp_path: Path, plugins: list[str] | None) -> None:
    """The wheel puts a module where Pelican looks if `PLUGINS` is not set; loaded twice, it publishes once."""
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, target in mapping["force-include"].items():
        (tmp_path / "installed" / target).parent.mkdir(parents=True)
        shutil.copyfile(ROOT / source, tmp_path / "installed" / target)
    strip(site).article("a.md", "A")
    site.configure(PLUGINS=plugins)
    site.commit("2024-01-01T10:00:00Z")
    status, said = run_site(
        site, PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path / "installed")]), **with_stork(site)
    )
    assert status == 0
    assert len(re.findall(r"ResourceSync: \d+ resources?, .*; first publication\.", said)) == 1


def test_other_plugins_stay(site: Site) -> None:
    """With `PLUGINS` unset and the plug-in installed, those that Pelican finds by itself are loaded as before."""
    address, append = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    for before, after in (("", ""), ("PLUGINS = ['sitemap']\n", append)):
        site.settings.pop("PLUGINS", None)
        site.configure()
        with (site.folder / "pelicanconf.py").open("a") as settings:
            settings.write(before + address + after)
        printed = site.command("--fatal", "errors", environment=with_stork(site)).stdout
        assert "at https://museum.example/resourcesync/ in" in printed
        assert "<loc>https://museum.example/a.html</loc>" in (site.output / "sitemap.xml").read_text()
