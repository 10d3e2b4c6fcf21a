"""Roles of sources: compared with the files that Pelican's own generators take."""

import logging
import posixpath
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pelican.generators import Generator
from pelican.settings import read_settings

from pelican_resourcesync.publishers.pelican.outputs import Role, Roles

NAMES = ("a", "b", "images", "pages", "draft", ".hidden", "x.bak")
FILES = ("one.md", "two.html", "three.png", "four.rst", "five", ".secret.md", "#six.md#", "seven.md~", "eight.bak")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"ARTICLE_PATHS": ["a"], "PAGE_PATHS": ["pages", "b"], "STATIC_PATHS": ["images", "a"]},
    {"ARTICLE_PATHS": ["a/b", "b", "a"], "ARTICLE_EXCLUDES": ["a/b/a", "b/images"]},
    {"ARTICLE_PATHS": [""], "ARTICLE_EXCLUDES": ["a"], "PAGE_PATHS": ["a/b"], "STATIC_PATHS": [""]},
    {"STATIC_PATHS": ["images", "a/five", "three.png"], "STATIC_EXCLUDES": ["images/b"]},
    {"STATIC_PATHS": ["."], "STATIC_EXCLUDES": ["a", "./b"]},
    {"PAGE_PATHS": ["pages/"], "STATIC_PATHS": ["a/"], "STATIC_EXCLUDES": ["a/b", "b/"]},
    {"IGNORE_FILES": [".*", "*~", "#*", "*.bak", "draft"], "STATIC_PATHS": [""]},
    {"IGNORE_FILES": ["a"], "STATIC_PATHS": ["a", "b"]},
    {"ARTICLE_PATHS": ["one.md", "a/two.html", "a/five"], "PAGE_PATHS": ["none"], "STATIC_PATHS": []},
    {"ARTICLE_PATHS": ["a/../b", "./images"], "ARTICLE_EXCLUDES": ["a/../b/a", "images/a"], "PAGE_PATHS": []},
]


def tree(folder: Path) -> Path:
    """Make a tree of every file in every folder, two deep."""
    for path in ("", *NAMES, *(f"{one}/{other}" for one in NAMES for other in NAMES)):
        (folder / path).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / path / name).write_text("text")
    return folder


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree of sources."""
    return tree(tmp_path_factory.mktemp("roles"))


def pelican_takes(content: Path, overrides: dict[str, Any]) -> tuple[Roles, dict[str, Role]]:
    """Return the roles, and what Pelican's generators find: articles before pages before static files."""
    configuration = read_settings(override={"PATH": str(content), "SITEURL": "https://example.org", **overrides})
    generator = Generator({}, configuration, str(content), configuration["THEME"], str(content / "output"))
    found: dict[str, Role] = {}
    for kind, extensions in (("STATIC", False), ("PAGE", None), ("ARTICLE", None)):
        paths, excludes = configuration[f"{kind}_PATHS"], configuration[f"{kind}_EXCLUDES"]
        taken = generator.get_files(paths, exclude=excludes, extensions=extensions)
        found |= dict.fromkeys(map(posixpath.normpath, taken), Role[kind])
    return Roles(configuration, tuple(generator.readers.extensions)), found


def differences(content: Path, overrides: dict[str, Any]) -> list[tuple[str, Role | None, Role | None]]:
    """Return each file of which we say another thing than Pelican."""
    roles, taken = pelican_takes(content, overrides)
    paths = (file.relative_to(content).as_posix() for file in content.rglob("*") if file.is_file())
    said = ((path, roles.of(path), taken.get(path)) for path in sorted(paths))
    return [each for each in said if each[1] != each[2]]


@pytest.mark.parametrize("overrides", SETTINGS)
def test_roles_are_what_pelican_takes(content: Path, overrides: dict[str, Any]) -> None:
    """Every file of the tree has the role under which a generator takes it, or none."""
    assert differences(content, overrides) == []


PATHS = st.lists(
    st.sampled_from(["", "a", "b", "a/b", "a/b/", "pages", "images/", "./a", "a//b", "one.md", "a/one.md", "."]),
    max_size=3,
)


@given(
    st.fixed_dictionaries(
        {f"{kind}_{what}": PATHS for kind in ("ARTICLE", "PAGE", "STATIC") for what in ("PATHS", "EXCLUDES")}
        | {"IGNORE_FILES": st.lists(st.sampled_from(["a", "*.md", ".*", "b*", "**/.*"]), max_size=2)}
    )
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_give_what_pelican_takes(content: Path, overrides: dict[str, Any]) -> None:
    """However paths and patterns are written, the roles are Pelican's."""
    logging.disable(logging.WARNING)
    try:
        assert differences(content, overrides) == []
    finally:
        logging.disable(logging.NOTSET)


def test_path_of_the_past_needs_no_file() -> None:
    """Roles are asked of paths, not of files."""
    rules = {"IGNORE_FILES": ["*~"]}
    for kind, paths in (("ARTICLE", [""]), ("PAGE", ["pages"]), ("STATIC", ["images"])):
        rules |= {f"{kind}_PATHS": paths, f"{kind}_EXCLUDES": []}
    rules["ARTICLE_EXCLUDES"] = ["pages"]
    roles = Roles(rules, ("md",))
    said = {path: roles.of(path) for path in ("gone.md", "pages/gone.md", "images/gone.png", "gone.txt", "gone.md~")}
    assert said == {
        "gone.md": Role.ARTICLE,
        "pages/gone.md": Role.PAGE,
        "images/gone.png": Role.STATIC,
        "gone.txt": None,
        "gone.md~": None,
    }
    assert roles.ignored("x~")
    assert not roles.ignored("x")
