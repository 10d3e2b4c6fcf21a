"""`docs/check.md` says what `check` does: every option, every key of its JSON, every form of its report."""

import json
import re
from argparse import ArgumentParser, _SubParsersAction
from pathlib import Path

from pelican_resourcesync.checker import RULES, check
from pelican_resourcesync.checker.resources import _PAGES
from pelican_resourcesync.checker.scan import STANDARD_LIMITS
from pelican_resourcesync.cli import parser
from tests.kit.documents import lay, text
from tests.kit.sites import ROOT

PAGE = (ROOT / "docs/check.md").read_text("utf-8")


def options() -> ArgumentParser:
    """Return the parser of the verb."""
    (verbs,) = [action for action in parser()._actions if isinstance(action, _SubParsersAction)]
    verb = verbs.choices["check"]
    assert isinstance(verb, ArgumentParser)
    return verb


def test_every_option_is_documented() -> None:
    """The table has the options that there are, and their defaults; docs/commands.md has those of every command."""
    actions = {name: action for action in options()._actions for name in action.option_strings if name[:2] == "--"}
    del actions["--quiet"], actions["--verbose"]
    rows = dict(re.findall(r"^\| `(--[\w-]+)[^|]*\| (.*) \|$", PAGE, re.MULTILINE))
    assert rows.keys() == actions.keys() - {"--help"}
    for name, action in actions.items():
        if isinstance(action.default, int) and not isinstance(action.default, bool):
            assert f"({action.default:,})" in rows[name]
        for choice in action.choices or ():
            assert f"`{name} {choice}`" in PAGE


def test_report_is_as_shown(tmp_path: Path) -> None:
    """The example of a report has the form of one, in text and as JSON with all of its keys."""
    broken = text("resources-1.xml").replace('length="5"', 'length="five"')
    report = check(str(lay(tmp_path, {"resources-1.xml": broken})))
    shown = re.findall(r"^    (.+)$", PAGE.partition("## The report")[2].partition("\n## ")[0], re.MULTILINE)
    error, fetcher = report.as_text().splitlines()[:2]
    assert error == shown[0]
    assert re.fullmatch(r"  \S+, line \d+, entry '\S+': length '\w*' is not a number of bytes", shown[1])
    assert re.fullmatch(r"  \S+, line \d+, entry '\S+': length '\w*' is not a number of bytes", fetcher)
    example = json.loads("".join(line for line in shown if '"' in line))
    real = json.loads(report.as_json())
    assert example.keys() == real.keys()
    assert example["findings"][0].keys() == real["findings"][0].keys()
    assert example["counts"][0].keys() == real["counts"][0].keys()
    assert f"the first {STANDARD_LIMITS.findings} places" in PAGE


def test_identifiers_are_rules() -> None:
    """Every identifier that the page names is one that a rule has."""
    named = set(re.findall(r"\b(?:X|SD|CL|RL|RD|CH|CD|LN|AR|DI|CN|V11)\d\d\b", PAGE))
    assert named >= {"CL06", "CH04", "CH06", "RD05", "CD04", "AR03", "AR06"}
    assert named <= {rule.identifier for rule in RULES}


def test_number_of_pages() -> None:
    """So many pages are looked at as the page says."""
    assert _PAGES == 10
    assert "at most ten" in PAGE


def test_exits_are_documented() -> None:
    """Each of the three exit statuses has its meaning."""
    (statuses,) = re.findall(r"The exit status is (.*)", PAGE)
    assert re.findall(r"\b\d\b", statuses) == ["0", "1", "2"]
