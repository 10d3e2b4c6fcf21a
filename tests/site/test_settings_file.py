"""A settings file: what is understood of it without running anything."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.site.settings_file import Said, plain_settings, read_settings_files


def values(source: str) -> dict[str, Any]:
    """Give the plain values of a settings file."""
    return plain_settings(source.encode()).values


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("A = 'text'", {"A": "text"}),
        ("A = 1; B = -2.5; C = True; D = None; E = b'x'", {"A": 1, "B": -2.5, "C": True, "D": None, "E": b"x"}),
        ("A: str = 'x'\nB: int", {"A": "x"}),
        ("A = ['a', ('b', {'c': 1})]", {"A": ["a", ("b", {"c": 1})]}),
        ("A = {1, 2}", {"A": {1, 2}}),
        ("A = 'x'\nB = A\nC = [A, B]\nD = {A: B}", {"A": "x", "B": "x", "C": ["x", "x"], "D": {"x": "x"}}),
        ("A = 'x'\nB = A + '/' + A", {"A": "x", "B": "x/x"}),
        ("A = [1]\nB = A + [2]", {"A": [1], "B": [1, 2]}),
        ("A = B = 'x'", {"A": "x", "B": "x"}),
        ("A = 1\nA = 2", {"A": 2}),
        ("'A docstring'\n# a comment\nA = 1", {"A": 1}),
        ("A = 'multi' 'part'", {"A": "multipart"}),
        ("A = '\\d'", {"A": "\\d"}),
    ],
)
def test_plain_values_are_understood(source: str, said: dict[str, Any]) -> None:
    """Literals, names of what is known, chains and sums: nearly all that settings files hold."""
    assert values(source) == said


@pytest.mark.parametrize(
    "code",
    [
        "A = os.environ['A']",
        "A = f'{B}'",
        "A = unknown",
        "A = unknown + 'x'",
        "A = 'x' + 1",
        "A = {[]: 1}",
        "A = {**B}",
        "A = [each for each in B]",
        "A, C = 1, 2",
        "A += 'x'",
        "A['key'] = 'x'",
        "A.append('x')",
        "if B:\n    A = 2",
        "for A in B:\n    pass",
        "while B:\n    A = 1",
        "with B as A:\n    pass",
        "try:\n    A = 2\nexcept Exception:\n    pass",
        "def f():\n    global A\n    A = 2",
        "def A():\n    pass",
        "class A:\n    pass",
        "import A",
        "import A.b",
        "from x import y as A",
        "del A",
        "C = (A := 3) + B",
        "from unknown import *",
        "try:\n    from unknown import *\nexcept ImportError:\n    A = B",
    ],
)
def test_what_may_change_a_value_makes_it_unclear(code: str) -> None:
    """After a statement that is not understood, what was known of the name is known no more."""
    said = plain_settings(f"A = 'known'\n{code}".encode())
    assert "A" not in said.values
    assert not said.knows("A")


def test_unclear_name_can_become_clear_again() -> None:
    """A later plain assignment settles it."""
    said = plain_settings(b"A = 1\nif B:\n    A = 2\nA = 3\nfrom x import *\nB = 4")
    assert said == Said({"B": 4}, {"A", "B"} - {"B"}, whole=False)


def test_name_that_is_never_mentioned_is_known_not_to_be_set() -> None:
    """A file that is understood, and silent, says so; one that imports all of another may say anything."""
    assert plain_settings(b"A = 1").knows("B")
    assert not plain_settings(b"from x import *\nA = 1").knows("B")
    assert plain_settings(b"A = 1").value("ARTICLE_URL") == "{slug}.html"


@pytest.mark.parametrize(
    "source", [b"A = (", b"A = 1\n  B = 2", b"\0", b"\xff\xfe", b"# coding: nonsense\nA = 1", b"(" * 5000]
)
def test_what_is_no_python_says_nothing(source: bytes) -> None:
    """Of a file with a syntax error nothing is known, not even what it leaves out."""
    said = plain_settings(source)
    assert said.values == {}
    assert not said.knows("A")


def test_code_is_never_run(tmp_path: Path) -> None:
    """Whatever a file of the past would do, it does not."""
    mark = tmp_path / "run"
    code = f"""
from pathlib import Path
A = Path({str(mark)!r}).write_text('x')
B = __import__('os').system('touch {mark}')
Path({str(mark)!r}).touch()
C = [Path({str(mark)!r}).touch() for _ in range(1)]
@Path({str(mark)!r}).touch
def f(x=Path({str(mark)!r}).touch()): pass
"""
    assert plain_settings(code.encode()).values == {}
    assert not mark.exists()


@given(st.binary(max_size=60))
def test_any_bytes_are_understood_or_not(source: bytes) -> None:
    """No file makes reading fail."""
    assert isinstance(plain_settings(source), Said)


def test_imports_of_all_take_over_what_another_file_says() -> None:
    """A publishconf.py says what pelicanconf.py says, and what comes later wins."""
    files = {
        "site/publishconf.py": b"import os\nfrom pelicanconf import *\nB = 20\nD = A\n",
        "site/pelicanconf.py": b"A = 1\nB = 2\nC = f()\n",
        "pelicanconf.py": b"A = 'another'\n",
    }
    said = read_settings_files(files)
    assert said["site/publishconf.py"].values == {"A": 1, "B": 20, "D": 1}
    assert said["site/publishconf.py"].knows("E")
    assert not said["site/publishconf.py"].knows("C")
    assert [*said].index("site/pelicanconf.py") < [*said].index("site/publishconf.py")


def test_imports_in_a_circle_or_of_files_that_are_gone_end() -> None:
    """What cannot be followed leaves everything open."""
    said = read_settings_files(
        {"a.py": b"from b import *\nA = 1", "b.py": b"from a import *\nB = 2", "c.py": b"from . import *"}
    )
    assert said["a.py"].values == {"A": 1, "B": 2}
    assert not said["a.py"].knows("X")
    assert not said["c.py"].knows("X")
