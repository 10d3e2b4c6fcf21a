"""What a target leads to — a folder, a file, a URL — and the command line."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pelican_resourcesync.checker import CheckError, CheckReport, Finding, Level, check
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.cli import main
from tests.kit.documents import BASE, SOURCE, hosted, lay, names, text
from tests.kit.live import served
from tests.kit.screen import terminal

DOCUMENTS = sum(name.endswith((".xml", "/resourcesync")) for name in SOURCE)


def linked(link: str) -> str:
    """Make a page."""
    return f'<!doctype html><head><link rel="resourcesync" href="{link}"></head>'


@pytest.mark.parametrize("name", ["a/page.html", "robots.txt"])
def test_file_in_a_folder(tmp_path: Path, name: str) -> None:
    """A page and robots.txt lead to the Source of the folder that they are in."""
    report = check(str(lay(tmp_path / "site", {"a/page.html": linked("../capabilitylist.xml")}) / name))
    assert (names(report.findings), report.documents, report.elsewhere) == ([], DOCUMENTS, 0)


@pytest.mark.parametrize("name", ["page.html", "robots.txt"])
def test_file_from_elsewhere(tmp_path: Path, name: str) -> None:
    """What was saved from another site leads to the web, and there to no private address."""
    with hosted(tmp_path / "site") as address:
        saved = {
            "page.html": linked(f"{address}/capabilitylist.xml"),
            "robots.txt": f"Sitemap: {address}/resources.xml",
        }
        (tmp_path / name).write_text(saved[name], "utf-8")
        with pytest.raises(CheckError, match=r"127\.0\.0\.1 is not public; nothing was checked"):
            check(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.html", "<html>", "has no link with rel=resourcesync"),
        ("a.html", linked("/capabilitylist.xml"), "has no link with rel=resourcesync to the web"),
        ("robots.txt", "User-agent: *\n", "has no Sitemap directive"),
        ("robots.txt", "Sitemap: /resources.xml\n", "has no Sitemap directive to the web"),
    ],
)
def test_nothing_to_begin_with(tmp_path: Path, name: str, text: str, message: str) -> None:
    """A file that leads nowhere is no target."""
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(CheckError, match=message):
        check(str(tmp_path / name))


def test_link_to_nothing(tmp_path: Path) -> None:
    """A page on the web whose link leads to nothing is no target either."""
    with (
        hosted(tmp_path, changed={"page.html": linked("none.xml")}) as address,
        pytest.raises(CheckError, match=r"none\.xml.*; nothing was checked"),
    ):
        check(f"{address}/page.html")


@contextmanager
def on_the_web(folder: Path, changed: dict[str, str | bytes | None] | None = None) -> Iterator[str]:
    """Serve the Source under an address of its own, which all documents name."""
    with served(folder) as address:
        lay(folder, changed, f"{address}/")
        yield address


def test_whole_source(tmp_path: Path) -> None:
    """From the host, from each entry point and from robots.txt the same documents are found."""
    with on_the_web(tmp_path) as address:
        for path in ("", "/", "/.well-known/resourcesync", "/description.xml", "/capabilitylist.xml"):
            report = check(f"{address}{path}")
            assert names(report.findings) == [], path
        report = check(f"{address}/robots.txt")
        assert names(report.findings) == []
        assert report.documents >= DOCUMENTS - 1


def test_page_with_a_link(tmp_path: Path) -> None:
    """DI02: a page's link leads to its Capability List."""
    page = '<!doctype html><head><link rel="resourcesync" href="capabilitylist.xml"></head>'
    with on_the_web(tmp_path, {"page.html": page, "bare.html": "<html>", "index.html": page}) as address:
        assert check(f"{address}/page.html").documents >= DOCUMENTS - 1
        with pytest.raises(CheckError, match="has no link with rel=resourcesync"):
            check(f"{address}/bare.html")
        (tmp_path / ".well-known/resourcesync").unlink()
        report = check(address)
        assert names(report.findings) == ["DI01 SHOULD"]
        (tmp_path / "index.html").write_text("<html>", "utf-8")
        with pytest.raises(
            CheckError, match=f"{address}/? has no link with rel=resourcesync: pass the URL of a document"
        ):
            check(address)


def test_page_with_a_header(tmp_path: Path) -> None:
    """DI03: the header of a page leads to the Source, too."""
    link = {"page.html": {"Link": '<capabilitylist.xml>; rel="resourcesync"'}}
    with hosted(tmp_path, link, {"page.html": "<html>"}) as address:
        assert check(f"{address}/page.html").documents >= DOCUMENTS - 1


def test_robots_txt_with_a_plain_sitemap(tmp_path: Path) -> None:
    """What has nothing of ResourceSync is not checked, unless robots.txt names nothing else."""
    plain = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>'
    robots = tmp_path / "robots.txt"
    with on_the_web(tmp_path, {"sitemap.xml": plain, "other.xml": plain}) as address:
        before = check(f"{address}/robots.txt")
        text = robots.read_text("utf-8")
        robots.write_text(f"{text}\nSitemap: {address}/sitemap.xml\nSitemap: {address}/gone.xml\n", "utf-8")
        after = check(f"{address}/robots.txt")
        assert after.documents == before.documents
        assert "X02 MUST" not in names(after.findings)
        robots.write_text(f"Sitemap: {address}/sitemap.xml\nSitemap: {address}/other.xml\n", "utf-8")
        assert "X02 MUST" in names(check(f"{address}/robots.txt").findings)


def test_host_that_does_not_answer() -> None:
    """The reason is the message; nothing is said of a page that nobody has seen."""
    with pytest.raises(CheckError) as error:
        check("http://127.0.0.1:9/")
    assert str(error.value) == "http://127.0.0.1:9/: Connection refused"


def test_single_document_asks_for_nothing_more(tmp_path: Path) -> None:
    """Without --follow one request is made; with it, what the document names is visited."""
    with on_the_web(tmp_path) as address:
        assert check(f"{address}/changes-1.xml").documents == 1
        report = check(f"{address}/changes-1.xml", follow=True)
        assert report.documents == 3
        assert names(report.findings) == []
        assert check(f"{address}/dump.zip").packages == 1


def test_no_private_address_that_a_document_names(tmp_path: Path) -> None:
    """A document in a file may name what it likes: nothing on this machine is asked for it."""
    with on_the_web(tmp_path) as address:
        report = check(str(tmp_path / "changes-1.xml"), follow=True)
        assert report.documents == 1
        assert "127.0.0.1 is not public" in report.as_text()
        assert address


def test_conforming(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Source without a fault: status 0 and one line."""
    assert main(["check", "--strict", str(lay(tmp_path))]) == 0
    said = f"{tmp_path}: conforming: 0 errors, 0 warnings in 21 documents"
    assert capsys.readouterr() == (f"{said} and 4 packages\n", "")
    assert main(["check", "--strict", "--no-deep", str(tmp_path)]) == 0
    assert capsys.readouterr() == (f"{said}\n", "")


def test_resources_of_a_folder_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default, because they may have been built again without being published; those of a host only if asked."""
    (lay(tmp_path / "site") / "a.txt").write_text("built again")
    assert main(["check", str(tmp_path / "site")]) == 1
    assert "'https://example.org/a.txt'" in capsys.readouterr().out
    assert main(["check", "--no-deep", str(tmp_path / "site")]) == 0
    with on_the_web(tmp_path / "web", {"a.txt": b"built again"}) as address:
        assert main(["check", address]) == 0
        assert main(["check", "--deep", address]) == 1


def test_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings alone are conforming, and count where asked."""
    folder = str(lay(tmp_path, {".well-known/resourcesync": None}))
    assert main(["check", folder]) == 0
    assert main(["check", "--strict", folder]) == 1
    assert main(["check", "--strict", "--ignore", "DI01", folder]) == 0
    assert "warning DI01: /.well-known/resourcesync serves" in capsys.readouterr().out


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors: status 1; text names rule, sentence, document, line; so does JSON."""
    broken = text("resources-1.xml").replace('length="5"', 'length="five"')
    folder = str(lay(tmp_path, {"resources-1.xml": broken}))
    assert main(["check", folder]) == 1
    shown = capsys.readouterr().out
    assert "error X09: length is a number of bytes, and type is a media type [core §7] (2 times)\n" in shown
    assert f"  {BASE}resources-1.xml, line 6, entry '{BASE}a.txt': length 'five' is not a number of bytes\n" in shown
    assert main(["check", "--json", folder]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {name: report[name] for name in ("target", "conforming", "documents")} == {
        "target": folder,
        "conforming": False,
        "documents": 21,
    }
    assert report["findings"][0] == {
        "rule": "X09",
        "level": "error",
        "document": f"{BASE}resources-1.xml",
        "line": 6,
        "entry": f"{BASE}a.txt",
        "message": "length 'five' is not a number of bytes",
    }
    assert report["counts"] == [{"rule": "X09", "level": "error", "count": 2}]


def test_single_document(tmp_path: Path) -> None:
    """A document alone is checked alone, and nothing is asked for."""
    file = lay(tmp_path) / "changes-1.xml"
    assert main(["check", str(file), "--edition", "2017"]) == 0
    assert main(["check", str(file), "--edition", "2014"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "cannot be read: No such file or directory"),
        ([], "add a TARGET"),
        (["--ignore", "X99", "."], "'X99' is not a rule that is checked"),
        (["--ignore", "X16", "."], "it takes two visits"),
        (["a\0b"], "cannot be read"),
        (["http://"], "is not an http(s) URL"),
        (["http://127.0.0.1:1/x"], "nothing was checked"),
    ],
)
def test_what_cannot_be_checked(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No target, or wrong options: status 2 and one sentence."""
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """The list of rules, and of those that cannot be seen."""
    assert main(["check", "--rules"]) == 0
    listed = capsys.readouterr().out
    assert "CH03   MUST    Changes are in forward chronological order [core §12.1]\n" in listed
    assert "X16    -       Cannot be checked from outside" in listed


def test_progress_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits at a terminal sees how much was read; the report stays as it is."""
    monkeypatch.setattr("pelican_resourcesync.terminal._PATIENCE", 0.0)
    monkeypatch.setattr("pelican_resourcesync.terminal._PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with terminal() as there:
        monkeypatch.setattr(sys, "stderr", there.stream)
        assert main(["check", str(lay(tmp_path))]) == 0
        assert f"pelican-resourcesync: checking {tmp_path}, 4 items read" in there.seen()
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("jobs", 0, "must be at least 1"),
        ("max_documents", 0, "must be at least 1"),
        ("edition", 2013, "the edition must be 2014 or 2017, not 2013"),
    ],
)
def test_requests_that_cannot_be(name: str, value: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the command line does not let through, with status 2, is refused to others too."""
    with pytest.raises(CheckError, match=message):
        check(".", **{name: value})  # type: ignore[arg-type]  # numbers all
    option = f"--{name.replace('_', '-')}"
    with pytest.raises(SystemExit, match="2"):
        main(["check", option, str(value), "."])
    assert option in capsys.readouterr().err


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
