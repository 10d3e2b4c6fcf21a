"""Run the peers, and write the page."""

import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lxml import etree

from tests.kit.sites import ROOT
from tests.tools.peers.page import PAGE, proofs, render


def run(named: list[str]) -> dict[str, str]:
    """Run tests; return the result of each: what it saw, why it failed or did not run."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "-o", "junit_family=xunit1", *named]
        if (code := subprocess.run(command, cwd=ROOT, check=False).returncode) > 1:  # 1: some failed
            sys.exit(f"pytest ended with {code}: a test of the table of peers is not there")
        cases = etree.parse(report).iter("testcase")
        results: dict[str, dict[str, None]] = {}
        for case in cases:
            name = f"{str(case.get('classname')).replace('.', '/')}.py::{str(case.get('name')).partition('[')[0]}"
            results.setdefault(name, {})[_result(case)] = None
    return {name: ", ".join(found) for name, found in results.items()}


def _result(case: Any) -> str:
    for tag, text in (("failure", "**fails**"), ("error", "**fails**"), ("skipped", "did not run")):
        if (found := case.find(tag)) is not None:
            return f"{text}: {str(found.get('message')).splitlines()[0].replace('|', '/')}"
    return ", ".join(str(seen.get("value")) for seen in case.iter("property")) or "yes"


def main() -> int:
    """Write the page; return whether anything failed."""
    page = render(
        run(proofs()),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        python=platform.python_version(),
        system=platform.system(),
    )
    PAGE.write_text(page, "utf-8")
    print(page)
    return "**fails**" in page


if __name__ == "__main__":
    sys.exit(main())
