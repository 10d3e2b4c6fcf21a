"""`docs/interoperability.md` has the peers that `make peers` tries, and each is tried by a test."""

from tests.test_conformance import functions
from tests.tools.peers.page import PAGE, READERS, REQUIREMENTS, SOURCES, UNTRIED, proofs, render, table_rows


def test_page_and_table() -> None:
    """All but versions and results is as the table of peers says."""
    page = PAGE.read_text("utf-8")
    tried = [row for row in table_rows(page) if len(row) == 4]
    assert [(row[0], row[2]) for row in tried if row[0] not in {"program", "Source", "---"}] == [
        (peer.name, peer.what) for peer in (*READERS, *SOURCES)
    ]
    assert {row[0] for row in table_rows(page) if len(row) == 2} >= {*REQUIREMENTS, *UNTRIED}
    assert "did not run" in render({}, date="", python="", system="")


def test_peers_are_tried() -> None:
    """Each test that is named is one."""
    for test in proofs():
        path, name = test.split("::")
        assert name in functions(path), test
