"""A pytest plugin for runs with faults: it notes how long each test takes, and lets Hypothesis not shrink a failure."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

#: Where to write what the run without any fault found, if set.
NOTES = "MUTANTS_NOTES"
_seconds: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Find failures, and do not simplify them."""
    settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("mutants")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note how long a test takes, in seconds of processors, because others may load the machine."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        _seconds[item.nodeid] = sum(os.times()[:4]) - before


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test fails without any fault: it shows nothing."""
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write down how long each test took, and which modules the tests import that are not the project's."""
    if NOTES in os.environ:
        here = str(Path.cwd())
        modules = [
            name for name, each in [*sys.modules.items()] if not str(getattr(each, "__file__", here)).startswith(here)
        ]
        Path(os.environ[NOTES]).write_text(
            json.dumps(
                {"seconds": {name: each for name, each in _seconds.items() if name not in _failed}, "modules": modules}
            ),
            "utf-8",
        )
