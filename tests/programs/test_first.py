"""The first publication: what counts as one, what stops a build instead, and what lets a build go on.

The loopback server is asked for public names as a proxy; where it is not, real names and ports are.
"""

import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from tests.kit.live import Ask, Manner, content, page, static, status
from tests.kit.museum import HOME, MUSEUM, STATE, Museum, tree
from tests.kit.sites import run, warnings

FIRST = "RESOURCESYNC_FIRST=1"
ASSUMED = "this is the first publication, assuming that nothing was public here before"


def store(folder: Path) -> Manner:
    """Answer as an object store does: 403 where there is no file."""

    def answer(ask: Ask) -> None:
        path = ask.path or "index.html"
        (static(folder) if (folder / path).is_file() else status(403))(ask)

    return answer


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what was said of the publication since the last time."""
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("ResourceSync: ")]


def test_object_store(museum: Museum, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In CI, in a fresh clone each time: the first publication, the second, and one after the documents are gone."""
    monkeypatch.setenv("CI", "true")
    museum.host.manner = store(museum.www)
    museum.edit(1)
    assert FIRST in museum.stops()  # an empty store, or one that hides all that it has
    museum.www.mkdir()
    (museum.www / "index.html").write_text("An older site")
    museum.build()
    line = said(capsys)[0]
    assert f"there is no publication at {MUSEUM}/{STATE}: this is the first publication, assuming that" in line
    for month in (2, 3):
        museum.deploy()
        (museum.www / "index.html").write_text("An older site")
        museum.edit(month)
        shutil.rmtree(museum.site.folder / ".resourcesync", ignore_errors=True)
        museum.build()
        assert museum.state()["generation"] == month


def test_not_live_yet(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the first of several builds says that it is the first publication; each is one, until the site is live."""
    ends = []
    for month in (1, 2, 3):
        museum.edit(month)
        museum.build_again()
        lines = said(capsys)
        ends.append((lines[0].rpartition(": ")[2], lines[-1].rpartition("; ")[2]))
        assert museum.state()["generation"] == 1
    assert ends == [(f"{ASSUMED}.", "first publication."), *[("not live yet.", "not live yet.")] * 2]
    museum.deploy()
    museum.build_again()
    assert said(capsys)[-1].endswith("nothing changed since the last publication.")


# --- warnings instead of errors ----------------------------------------------


@pytest.mark.parametrize("manner", [status(500), status(403), content(b"{")], ids=["500", "403", "damaged"])
def test_build_without_a_publication(museum: Museum, manner: Manner) -> None:
    """One warning; the pages are new, and the documents in the output are kept. A fresh output has none: it stops."""
    museum.site.configure(RESOURCESYNC={"previous": "live", "on_error": "warn"})
    museum.publish(1)
    museum.host.manner = manner
    museum.edit(2, "A text that is new.")
    before = museum.state()
    status_, printed = run(museum.site)
    assert status_ == 0
    (warning,) = warnings(printed)
    assert warning.startswith(
        f"ResourceSync: warning: nothing is published; the documents in {museum.site.output} stay: "
    )
    assert museum.state() == before
    assert "A text that is new." in (museum.site.output / "a.html").read_text()
    assert (museum.site.output / ".well-known/resourcesync").is_file()
    shutil.rmtree(museum.site.output)
    status_, printed = run(museum.site)
    assert status_ == 1
    assert "'on_error' is 'warn', but the output lacks the documents that are live." in printed
    assert not tree(museum.site.output)


def test_output_that_is_older_than_what_is_live(museum: Museum) -> None:
    """Uploading it would take the site back: a warning is not enough."""
    museum.publish(1)
    shutil.copytree(museum.www, museum.www.with_name("first"))
    museum.publish(2)
    museum.build()  # sees the second
    shutil.rmtree(museum.site.output)
    shutil.copytree(museum.www.with_name("first"), museum.site.output)
    museum.host.manner = status(500)
    with pytest.raises(PublicationError, match="500 Internal Server Error"):
        museum.build_again(on_error="warn")
    (museum.site.output / STATE).write_bytes(b"{")
    with pytest.raises(PublicationError, match="500 Internal Server Error"):
        museum.build_again(on_error="warn")


def test_error_after_the_build(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages that would be missing are known late: the same, with what the last publication wrote."""
    museum.publish(1)
    museum.site.remove("content/a.md")
    museum.site.article("b.md", "B")
    before = museum.state()
    museum.build_again(on_error="warn")
    assert museum.state() == before
    assert (museum.site.output / f"{HOME}/resourcelist.xml").is_file()
    capsys.readouterr()
    with pytest.raises(PublicationError, match="1 of 1 resources would be listed as deleted"):
        museum.build(on_error="warn")
    assert "nothing was published. The folder" in capsys.readouterr().out
    museum.host.manner = page
