"""Histories that are impossible in one thing: the witness names it, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from tests.truth.conftest import Known
from tests.truth.consistency import check
from tests.truth.support import EXPECTED, SITEURL, Change
from tests.truth.told import Told

PERFECT = [change.told() for change in EXPECTED]

#: What exists in the end.
LISTED = ["about.html", "category/misc.html", "first.html", "shy.html", "third.html"]


def _resources(known: Known) -> dict[str, str | None]:
    outputs = known.truth.builds[known.commits[-1]].outputs
    return {f"{SITEURL}/{path}": outputs[path].digest for path in LISTED}


def _check(
    known: Known,
    told: Sequence[Told],
    resources: Mapping[str, str | None] | None = None,
    landed: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, list[tuple[str, str]]]:
    """Return what is impossible: paths and notes by what it is."""
    case = known.case(told, hashes=True)
    found = check(case, _resources(known) if resources is None else resources, known.commits[-1], landed)
    return {name: [_row(each) for each in breaches] for name, breaches in asdict(found).items() if breaches}


def _row(breach: Mapping[str, Any]) -> tuple[str, str]:
    return breach["uri"].removeprefix(f"{SITEURL}/"), breach["note"]


def test_what_is_true_is_possible(known: Known) -> None:
    """And so is a history that knows less."""
    assert _check(known, PERFECT) == {}
    assert _check(known, [told for told in PERFECT if told.kind != "updated"]) == {}


def test_a_url_that_never_existed_is_named_once(known: Known) -> None:
    """One that was hidden all the time was never there for anybody."""
    told = [
        *(Change(3, "created", "never.html"), Change(4, "deleted", "never.html")),
        *(Change(3, "created", "secret.html"), Change(4, "deleted", "secret.html")),
    ]
    assert _check(known, [*PERFECT, *(change.told() for change in told)]) == {
        "never_existed": [("never.html", "created"), ("secret.html", "created")]
    }


def test_what_is_told_before_the_source_landed_is_too_early(known: Known) -> None:
    """What is told before a build shows it is counted; commits that do not build count with the next."""
    told = [replace(each, time=PERFECT[0].time) if each.uri.endswith("/shy.html") else each for each in PERFECT]
    early = [("shy.html", f"created, first built at {known.commits[4][:10]}")]
    assert _check(known, told) == {"unbuilt": early}
    assert _check(known, told, landed={"shy.html": known.commits[0]}) == {"unbuilt": early}
    assert _check(known, told, landed={"shy.html": known.commits[1]}) == {"too_early": early}
    third = Change(5, "created", "third.html").told()
    assert _check(known, [third if each.uri == third.uri else each for each in PERFECT]) == {}


def test_changes_alternate(known: Known) -> None:
    """Created comes first and after a deletion, and nothing else there; each is later than the one before it."""
    first = EXPECTED[2]
    told = [each for each in PERFECT if each != first.told()]
    assert _check(known, told) == {"out_of_order": [("first.html", "updated first")]}
    again = Change(4, "created", "first.html").told()
    assert _check(known, [*PERFECT[:11], again, *PERFECT[11:]]) == {
        "out_of_order": [("first.html", "created after updated")]
    }
    gone = [Change(2, "deleted", "first.html").told(), *PERFECT[6:]]
    assert _check(known, [*PERFECT[:6], *gone]) == {"out_of_order": [("first.html", "updated after deleted")]}
    twice = [*PERFECT[:6], PERFECT[5], *PERFECT[6:]]
    assert _check(known, twice) == {"out_of_order": [("first.html", "updated not later than updated")]}


def test_the_end_is_the_resource_list(known: Known) -> None:
    """By the changes, and by the build."""
    told = [each for each in PERFECT if each != Change(7, "deleted", "images/dot.svg").told()]
    assert _check(known, told) == {"wrong_end": [("images/dot.svg", "not in the Resource List")]}
    resources = _resources(known)
    resources.pop(f"{SITEURL}/shy.html")
    assert _check(known, PERFECT, resources) == {
        "wrong_end": [("shy.html", "not in the Resource List")],
        "not_listed": [("shy.html", "")],
    }
    assert _check(known, PERFECT, {**_resources(known), f"{SITEURL}/secret.html": None}) == {
        "wrong_end": [("secret.html", "not by its changes")],
        "not_built": [("secret.html", "")],
    }
