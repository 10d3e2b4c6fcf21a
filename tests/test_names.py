"""Names in the product: a loop names what it goes through."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: How many loops may have the variable `each`, by folder: the numbers may only fall.
MOST = {"destination": 14, "protocol": 1, "publication": 193, "repo_bridge": 10, "source": 10}


def loops(code: str) -> int:
    """Return how many loops and comprehensions have a variable with the name `each`."""
    targets = [node.target for node in ast.walk(ast.parse(code)) if isinstance(node, ast.For | ast.comprehension)]
    return sum(isinstance(part, ast.Name) and part.id == "each" for target in targets for part in ast.walk(target))


def test_loops() -> None:
    """Loops of both forms are counted, also where several variables are bound."""
    code = (
        "for each in rows:\n    print(each)\nsizes = [size for name, (each, size) in rows.items() for each in name]\n"
    )
    assert (loops(code), loops("for row in rows:\n    each = row\n")) == (3, 0)


def test_loops_name_what_they_go_through() -> None:
    """`for change in changes`, not `for each in changes`."""
    found: Counter[str] = Counter()
    for package in ("pelican_resourcesync", "repo_bridge"):
        for file in (ROOT / package).rglob("*.py"):
            path = file.relative_to(ROOT)
            found[path.parts[package != "repo_bridge"]] += loops(file.read_text("utf-8"))
    assert {name: number for name, number in found.items() if number > MOST.get(name, 0)} == {}
