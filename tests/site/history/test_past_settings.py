"""The settings of the past: since when they are what they are today, without running anything."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.site.history.past_settings import (
    PastSettings,
)

DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 10)]


def since(*files: str, name: str = "A", source: str = "") -> int | None:
    """Return the number of the version of a settings file since which a setting is what it is in the last."""
    versions = [{"conf.py": text.encode()} for text in files]
    settings = PastSettings(versions[-1])
    for day, version in zip(DAYS, versions, strict=False):
        settings.add(day, version)
    time = settings.unchanged_since((name,), source)
    return None if time is None else DAYS.index(time)


def same(one: str, other: str, **options: Any) -> bool:
    """Return whether a setting is the same in two versions of a settings file."""
    return since(one, other, **options) == 0


def test_since_when_a_setting_is_what_it_is() -> None:
    """The time is that of the first of the last versions that agree, however often it was so before."""
    assert since("A = 1", "A = 2", "A = 1", "B = 0\nA = 1") == 2
    assert since("A = 1", "A = 1") == 0
    assert since("A = 2", "A = 1") == 1
    assert since("A = 1", "", "A = 1") == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A = 'text'", "A = 'te' 'xt'"),
        ("A: str = 'x'", "A = 'x'"),
        ("A = ['a', ('b', {'c': 1})]", "A = [\n    'a',\n    ('b', {'c': 1}),\n]"),
        ("B = 'x'\nA = B + '/y'", "B = 'x'\nA = B + '/y'\nC = 1"),
        ("A = B = 'x'", "A = 'x'"),
        ("A = 0\nA = 1", "A = 1"),
        ("A = -2.5", "A = -2.5  # a comment"),
        ("A = f()", "A = f()"),
        ("A = f()\nB = 1", "A = f()\nB = 2"),
        ("if B:\n    A = 1", "if B:\n    A = 1\nC = 2"),
        ("import A.b", "import A.b"),
        ("A, B = 1, 2", "A, B = 1, 2"),
        ("A = '\\d'", "A = '\\\\d'"),
        ("def A(): return 1", "def A(): return 1"),
        ("from x import *", "from x import *\nB = 1"),
        ("A = (", "A = ("),
    ],
)
def test_settings_that_are_the_same(one: str, other: str) -> None:
    """Plain values are compared, code by what it is."""
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A = 1", "A = f()"),
        ("A = 'x/y'", "B = 'x'\nA = B + '/y'"),
        ("A = f()", "A = g()"),
        ("B = 1\nA = f(B)", "B = 2\nA = f(B)"),
        ("B = 1\nC = g(B)\nA = f(C)", "B = 2\nC = g(B)\nA = f(C)"),
        ("A = 1", "A = 1\nif B:\n    A = 2"),
        ("A = 1", "A = 1\nA += 1"),
        ("A = [1]", "A = [1]\nA.append(2)"),
        ("A = {}", "A = {}\nA['a'] = 1"),
        ("A = 1", "A = 1\ndel A"),
        ("A = 1", "A = 1\nimport A"),
        ("A = 1", "A = 1\nfrom x import y as A"),
        ("A = 1", "A = 1\ndef A(): pass"),
        ("A = 1", "A = 1\nclass A: pass"),
        ("A = 1", "A = 1\nfor A in B: pass"),
        ("A = 1", "A = 1\nC = (A := 3) + B"),
        ("A = 1", "A = 1\nfrom x import *"),
        ("A = 1", "from . import *"),
        ("A = 1", "A = {**B}"),
        ("A = 1", "A = (" * 5000),
        ("A = 1", "\0"),
        ("A = 1", "A = {[]: 1}"),
        ("A = True", "A = 1"),
    ],
)
def test_settings_that_may_differ(one: str, other: str) -> None:
    """What is not certain to be the same counts as another."""
    assert not same(one, other)
    assert not same(other, one)


def test_setting_that_is_not_there_has_the_default_of_pelican() -> None:
    """A file that is silent says what Pelican does of itself."""
    assert same("ARTICLE_URL = '{slug}.html'", "", name="ARTICLE_URL")
    assert not same("ARTICLE_URL = 'x/{slug}.html'", "", name="ARTICLE_URL")
    assert same("A = None", "")


@pytest.mark.parametrize(
    ("name", "one", "other", "concerned", "others"),
    [
        ("STATIC_PATHS", "['a', 'b']", "('a/',)", "b/c", "a/c"),
        ("STATIC_PATHS", "['a']", "['a', 'b/c']", "b/c", "b/d"),
        ("ARTICLE_EXCLUDES", "['a']", "[]", "a/b", "b/a"),
        ("IGNORE_FILES", "['*.tmp']", "[]", "a/b.tmp", "a/b.md"),
        ("IGNORE_FILES", "['drafts']", "[]", "drafts/b.md", "a/drafts.md"),
        ("EXTRA_PATH_METADATA", "{'a': {'path': 'b'}}", "{}", "a", "ab"),
        ("EXTRA_PATH_METADATA", "{'a': {'path': 'b'}}", "{'a': {'path': 'c'}}", "a/b", "b/a"),
        ("EXTRA_PATH_METADATA", "[1]", "{}", "a", ""),
        ("STATIC_PATHS", "'ab'", "['a', 'b']", "c/d", ""),
        ("STATIC_PATHS", "f(1)", "f(2)", "a/b", ""),
        ("ARTICLE_URL", "['a']", "['b']", "a", ""),
    ],
)
def test_what_a_setting_says_of_one_source(name: str, one: str, other: str, concerned: str, others: str) -> None:
    """Of settings about paths counts what they say of a source."""
    texts = f"{name} = {one}", f"{name} = {other}"
    assert not same(*texts, name=name, source=concerned)
    if others:
        assert same(*texts, name=name, source=others)
        assert not same(*texts, name=name)


def test_two_files() -> None:
    """A file has what it imports of another beside it, unless it says otherwise; both files count where both are."""
    base = {"site/base.py": b"A = 1\nB = 2", "base.py": b"A = 'another'", "site/conf.py": b"from base import *\nB = 3"}
    settings = PastSettings(base)
    settings.add(DAYS[0], {**base, "site/base.py": b"A = 0\nB = 2"})
    settings.add(DAYS[1], {**base, "site/base.py": b"A = 1\nB = 0"})
    settings.add(DAYS[2], {"site/conf.py": b"from base import *\nB = 3"})
    settings.add(DAYS[3], base)
    assert settings.unchanged_since(("A",)) == DAYS[3]
    assert settings.unchanged_since(("B",)) == DAYS[2]


def test_files_that_import_each_other() -> None:
    """What cannot be followed is code like any other."""
    files = {"a.py": b"from b import *\nA = 1", "b.py": b"from a import *\nB = 2"}
    settings = PastSettings(files)
    settings.add(DAYS[0], files)
    assert settings.unchanged_since(("A", "B", "C")) == DAYS[0]


def test_code_is_never_run(tmp_path: Path) -> None:
    """Whatever a file of the past would do, it does not."""
    mark = tmp_path / "run"
    code = f"""
from pathlib import Path
A = Path({str(mark)!r}).write_text('x')
B = __import__('os').system('touch {mark}')
Path({str(mark)!r}).touch()
@Path({str(mark)!r}).touch
def f(x=Path({str(mark)!r}).touch()): pass
"""
    assert same(code, code)
    assert not mark.exists()


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes(one: bytes, other: bytes) -> None:
    """No file makes reading fail, and each is the same as itself."""
    settings = PastSettings({"conf.py": other})
    settings.add(DAYS[0], {"conf.py": one})
    settings.add(DAYS[1], {"conf.py": other})
    assert settings.unchanged_since(("A", "STATIC_PATHS"), "a") in DAYS[:2]
