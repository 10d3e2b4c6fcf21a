"""The rule against the same rule, written a second time, over random histories of small sites."""

import tempfile
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from tests.site.history.cases import build
from tests.site.history.histories import History, histories, time_of
from tests.site.history.oracle import Change, expected_changes
from tests.support.sites import Site

#: How many histories there are, and how long each may be.
SHORT, LONG = 25, 600

#: Each history takes a build: a failing one is shown as it was found, not made smaller for minutes.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


def listed(site: Site, history: History) -> set[Change]:
    """Build a site, and return what is listed."""
    landings = len(history.landings)
    numbers = {time_of(number): number for number in range(landings + 1)}
    build(site, time_of(landings))
    file = site.output / "resourcesync/site/changelist.xml"
    rows = site.changes() if file.exists() else []
    found = [(numbers[datetime.fromisoformat(time)], kind, path.removeprefix("/")) for time, kind, path in rows]
    assert len(found) == len(set(found))
    return set(found)


def compare(history: History) -> None:
    """Compare what is listed of a history with what the second implementation says, and with what holds of any."""
    with tempfile.TemporaryDirectory() as folder:
        site = history.write(Path(folder, "site"))
        expected = expected_changes(site.folder, history.loose)
        found = listed(site, history)
        today = {path.removeprefix("/") for path in site.resources()}
        others = today - {url for _, kind, url in expected if kind != "deleted"}
        expected |= {(len(history.landings) - 1, "created", url) for url in others}
        for change in sorted(found ^ expected):
            note(f"{'listed' if change in found else 'missing'}: {change}")
        assert found == expected
        holds(found, today)


def holds(changes: set[Change], today: set[str]) -> None:
    """Assert that each URL is created before it is updated or deleted, and that those of today are there at the end."""
    lives: dict[str, list[str]] = defaultdict(list)
    for _number, kind, url in sorted(changes):
        assert (kind == "created") == (not lives[url] or lives[url][-1] == "deleted")
        lives[url].append(kind)
    assert {url for url, kinds in lives.items() if kinds[-1] != "deleted"} == today


@given(histories())
@settings(max_examples=SHORT, phases=QUICK, suppress_health_check=list(HealthCheck))
def test_the_rule_is_what_its_description_says(history: History) -> None:
    """Two implementations of one description agree, of which one is slow and obvious."""
    compare(history)


@pytest.mark.long
@given(histories(most=14))
@settings(max_examples=LONG, phases=QUICK, suppress_health_check=list(HealthCheck))
def test_the_rule_is_what_its_description_says_of_longer_histories(history: History) -> None:
    """The same over many more."""
    compare(history)
