"""What a report says: each rule with the first places that break it, and what comes of all."""

from pelican_resourcesync.check import CheckReport, Finding, Level
from pelican_resourcesync.check.rule import Findings


def report(places: int, most: int = 6) -> CheckReport:
    """Return a report of a rule that is broken in so many places."""
    findings = Findings(most=most)
    for number in range(places):
        findings.add(
            Finding("CH02", Level.MUST, "https://a.test/l.xml", number or None, "it has no change", "Needs", "x")
        )
    findings.add(Finding("AA01", Level.SHOULD, "c\x1b.xml", 1, "it is odd", "Should"))
    return CheckReport(target="out", documents=1_000, packages=1, findings=findings)


def test_text() -> None:
    """Errors come first; five places of a rule are shown, and the rest is counted."""
    assert report(7).as_text().splitlines() == [
        "error CH02: Needs (7 times)",
        "  https://a.test/l.xml, entry 'x': it has no change",
        *(f"  https://a.test/l.xml, line {number}, entry 'x': it has no change" for number in range(1, 5)),
        "  and 2 more",
        "",
        "warning AA01: Should (1 time)",
        "  c\\x1b.xml, line 1: it is odd",
        "",
        "out: not conforming: 7 errors, 1 warning in 1,000 documents and 1 package",
    ]
    assert "more" not in report(5).as_text()
    assert report(0).as_text().endswith("\nout: conforming: 0 errors, 1 warning in 1,000 documents and 1 package")


def test_status() -> None:
    """Errors do not conform; neither do warnings, if one wishes so."""
    assert [report(places).status(strict=strict) for places in (0, 1) for strict in (False, True)] == [0, 1, 1, 1]
