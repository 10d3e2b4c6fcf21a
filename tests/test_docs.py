"""The docs say what the code does: every setting, command, link and example in them is held to it."""

import ast
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from pelican_resourcesync.settings import (
    FolderSettings,
    Settings,
    in_file,
    parse_folder_settings,
    parse_settings,
    rows_of,
)
from tests.kit.sites import ROOT, Site

README = (ROOT / "README.md").read_text("utf-8")
ANY_SITE = (ROOT / "docs/any-site.md").read_text("utf-8")
SETTINGS, DOCUMENTS, TROUBLESHOOTING = (
    (ROOT / "docs" / name).read_text("utf-8") for name in ("settings.md", "documents.md", "troubleshooting.md")
)
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample_site").glob("*.md")])


def rows(page: str) -> list[list[str]]:
    """Return the cells of the rows of a page's table."""
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.promise("Documented")
def test_settings_table_names_every_setting_with_its_default() -> None:
    """The table names each setting once; those of publishing are among the others, where they help a reader."""
    shown = {cells[0].strip("`"): ast.literal_eval(cells[1].strip("`")) for cells in rows(SETTINGS)}
    assert sorted(cells[0] for cells in rows(SETTINGS)) == sorted(f"`{name}`" for name in rows_of(Settings))
    for name, value in shown.items():
        assert parse_settings({name: value}) == Settings(), name


def test_settings_of_packages() -> None:
    """What `True` means for `dumps` and `archives`, and what holds without them."""
    page = (ROOT / "docs/dumps.md").read_text("utf-8")
    for name in ("dumps", "archives"):
        table = rows(page.partition(f"| within `{name}` |")[2].partition("\n\n")[0])
        told = {cells[0].strip("`"): [cell.strip("`") for cell in cells[1:3]] for cells in table}
        default = getattr(Settings(), name)
        assert [*told] == [each.name for each in fields(default)]
        given = {key: ast.literal_eval(value) for key, (value, _) in told.items() if value != "keep"}
        assert parse_settings({name: True}) == parse_settings({name: given})
        without = {key: None if value == "keep" else int(value) for key, (_, value) in told.items() if name != "dumps"}
        assert all(getattr(default, key) == value for key, value in without.items())


def test_settings_of_folders() -> None:
    """The table of any site has the settings that differ from those of the plug-in, with their defaults."""
    shown = {cells[0].strip("`"): cells[1].strip("`") for cells in rows(ANY_SITE)}
    own = {name: each for name, each in rows_of(FolderSettings).items() if rows_of(Settings).get(name) != each}
    assert shown.keys() == own.keys()
    notation = in_file(Path("resourcesync.toml"))
    for name, text in shown.items():
        if text not in ("required", "not available"):
            found = parse_folder_settings(tomllib.loads(f"{name} = {text}"), notation)
            assert getattr(found, name) == getattr(FolderSettings(), name)
    (example,) = re.findall(r"```toml\n(.*?)```", ANY_SITE, re.DOTALL)
    assert parse_folder_settings(tomllib.loads(example), notation).sitemap == "correct"


def test_settings_table_names_every_value_of_choice() -> None:
    """What a setting may be is in its row."""
    table = {cells[0].strip("`"): cells[2] for cells in rows(SETTINGS)}
    for value in ("day", "week", "month", "year", "tag", "tag:PATTERN"):
        assert f'`"{value}"`' in table["changes_by"]
    for value in ("_headers", ".htaccess"):
        assert f'`"{value}"`' in table["link_headers"]
    for value in ("all", "none"):
        assert f'`"{value}"`' in table["history"]


def test_examples_of_settings_are_valid() -> None:
    """Every Python block of the settings runs, and its RESOURCESYNC is accepted."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", SETTINGS, re.DOTALL):
        exec(compile(block, "example", "exec"), names)
    assert parse_settings(names["RESOURCESYNC"]).changes_by == "week"


def test_readme_is_short() -> None:
    """It is read within minutes."""
    assert len(README.splitlines()) <= 150


def test_commands_exist() -> None:
    """Every `make` target that the README and CONTRIBUTING name is one."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"(?:`|\n    )make ([\w-]+)", README + (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    assert targets == {
        *("demo", "test", "check", "coverage", "lowest", "bench", "mutants", "faults", "docs", "pictures"),
        *("bare", "setup"),
        "peers",
        "release-check",
    }
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_documents_of_the_table_are_those_written(site: Site) -> None:
    """The table of what is written names every document of a built site, and no other."""
    site.article("a.md", at="2024-01-01T12:00:00Z")
    site.article("b.md", title="B title", at="2024-02-01T12:00:00Z")
    site.build()
    folders = [site.output / "resourcesync", site.output / ".well-known"]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    paths = [file.relative_to(site.output).as_posix() for file in files]
    written = {re.sub(r"(changelist-|changes/)2[^.]*", r"\1…", path) for path in paths}
    shown = {name for cells in rows(DOCUMENTS) for name in re.findall(r"`([^`]+)`", cells[0])}
    assert shown == {*written, ".nojekyll"}
    assert (site.output / ".nojekyll").exists()


def test_every_key_of_the_state_is_told(site: Site) -> None:
    """The table of `publication.json` names the keys of a written one, of several sets, and no other."""
    site.article("a.md", at="2024-01-01T12:00:00Z")
    site.build(TIMEZONE="Asia/Tokyo", RESOURCESYNC={"sets": {"site": {}, "pages": {"types": ["text/html"]}}})
    text = (ROOT / "docs/publication-json.md").read_text("utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    written = json.loads((site.output / "resourcesync/publication.json").read_bytes()).keys()
    # Of repositories, moved sites, those that began without their past, with hubs, and with a key.
    assert described == {*written, "read_as_of", "last_modified", "former", "first", "hubs", "home", "signature"}


@pytest.mark.parametrize("file", DOCS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    """Every relative link, and every test or module that the docs name, exists."""
    text = file.read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    paths = re.findall(r"`((?:tests|docs|sample_site|pelican_resourcesync)/[\w/.-]+\.\w+)`", text)
    for link in links:
        assert (file.parent / link).exists(), link
    for path in paths:
        assert (ROOT / path).exists(), path


def marked_tests(file: Path) -> Iterator[tuple[str, str]]:
    """Yield each promise that the tests of a module are marked with, and the test, or the module for `pytestmark`."""
    name = file.relative_to(ROOT).as_posix()
    for node in ast.parse(file.read_text("utf-8")).body:
        match node:
            case ast.FunctionDef(name=test, decorator_list=marks) | ast.ClassDef(name=test, decorator_list=marks):
                place = f"{name}::{test}"
            case ast.Assign(targets=[ast.Name("pytestmark")], value=value):
                place, marks = name, [value]
            case _:
                continue
        for promise in re.findall(r"pytest\.mark\.promise\('([^']+)'\)", " ".join(map(ast.unparse, marks))):
            yield promise, place


def test_promises_are_those_of_their_tests() -> None:
    """Each row names the tests that are marked with its promise, and no others; and there is no other marker."""
    lines = (ROOT / "docs/promises.md").read_text("utf-8").splitlines()
    named = {
        (cells := line.strip("| ").split(" | "))[0]: set(re.findall(r"`(tests/[^`]+)`", cells[-1]))
        for line in lines
        if line.startswith("| ")
    }
    del named["promise"]
    assert all(named.values())
    marked: dict[str, set[str]] = defaultdict(set)
    for file in (ROOT / "tests").rglob("test_*.py"):
        if "mark.promise(" in file.read_text("utf-8"):
            for promise, place in marked_tests(file):
                marked[promise].add(place)
    assert named == marked


def test_messages_that_are_explained_are_messages() -> None:
    """Each message of the table is, word for word, in the code."""
    cells = re.findall(r"^\| (\*.+?\*) \|", TROUBLESHOOTING, re.MULTILINE)
    phrases = [phrase for cell in cells for phrase in re.findall(r"\*([^*]+)\*", cell)]
    code = " ".join(file.read_text("utf-8") for file in (ROOT / "pelican_resourcesync").rglob("*.py"))
    joined = re.sub(r'"\s*f?"', "", code)
    assert len(phrases) >= 16
    for phrase in phrases:
        for part in phrase.split("…"):
            assert part.strip(" ,") in joined, phrase
