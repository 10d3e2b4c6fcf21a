"""`docs/conformance.md` says what is so: every rule, module and test that it names is there."""

import ast
import re

from pelican_resourcesync.checker import RULES, UNCHECKED
from tests.kit.sites import ROOT
from tests.tools.conformance import ASKS, NOT_WRITTEN, identifiers, proofs, table, written

PAGE = ROOT / "docs/conformance.md"


def functions(path: str) -> set[str]:
    """Return the names of the functions in a file of the project, those in classes left out."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_page_is_current() -> None:
    """The page is what the rules make it; `python -m tests.tools.conformance > docs/conformance.md` writes it anew."""
    assert PAGE.read_text("utf-8") == table()


def test_every_rule_is_in_the_page() -> None:
    """Each identifier has a row, and each row a reason for what it has not."""
    rows = re.findall(r"^\| ([A-Z]+\d+) \| (\S.*) \|$", table(), re.MULTILINE)
    assert [identifier for identifier, _ in rows] == identifiers()
    assert {rule.identifier for rule in RULES} | set(UNCHECKED) == set(identifiers())
    for identifier in identifiers():
        assert (identifier in written()) != (identifier in NOT_WRITTEN), (
            f"{identifier} is written, or there is a reason"
        )
    assert set(ASKS) == set(UNCHECKED)


def test_named_modules_exist() -> None:
    """Who is said to write is there."""
    for modules, _ in written().values():
        for module in modules:
            folder = ROOT if module.startswith("repo_bridge/") else ROOT / "pelican_resourcesync"
            assert (folder / module).is_file(), module


def test_named_tests_exist() -> None:
    """Every test that is said to prove something is a test."""
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", table()))
    assert len(named) > 30
    for path, name in named:
        assert name in functions(path), f"{path}::{name}"


def test_every_rule_that_is_checked_is_proven() -> None:
    """Of each rule with a function there is a test in which it is broken."""
    assert [rule.identifier for rule in RULES if not proofs(rule.identifier)] == []


def test_named_functions_exist() -> None:
    """Every function that is said to check something is one of its module."""
    for module, name in re.findall(r"`(rules\.\w+)\.(\w+)`", table()):
        path = f"pelican_resourcesync/checker/{module.replace('.', '/')}.py"
        assert (ROOT / path).is_file()
        assert f"def {name}(" in (ROOT / path).read_text("utf-8")
