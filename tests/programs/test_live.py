"""The publication that a build continues or starts over from, and when it stops, over real HTTP.

What is continued from which place is in `tests/publication/previous/test_places.py`. The sites have public names. The
loopback server is asked for them as a proxy, so nothing is patched.
"""

import shutil

import pytest
from pelican.settings import read_settings

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.pelican.site import earlier_addresses
from tests.kit.live import Manner, content, files, hosts, page, status
from tests.kit.museum import ARCHIVE, HOME, MUSEUM, STATE, Museum, tree
from tests.kit.sites import our_command, run, warnings


def test_output_is_read_before_it_is_cleaned(museum: Museum) -> None:
    """For those who serve from it, by any name that it has; once it is removed, there was none."""
    for month, where in enumerate(("output", "output", "content/../output"), start=1):
        museum.edit(month)
        museum.build_again(previous=where)
        assert museum.state()["generation"] == month
    museum.build(previous="output")
    assert museum.state()["generation"] == 1
    assert museum.host.asked() == {}


def test_disk_that_fails_is_one_sentence(museum: Museum) -> None:
    """No room or no leave to write: what was built and what stands there is said, and what to do."""
    museum.publish(1)
    museum.site.configure(OUTPUT_PATH="blocked/output")
    museum.site.write("blocked", "in the way")
    sentence = museum.stops()
    assert "blocked/output cannot be written: Not a directory" in sentence
    assert "move away the file or folder in its place" in sentence


@pytest.mark.parametrize("siteurl", [MUSEUM, "http://127.0.0.1:9"])
def test_publish_after_the_plug_in(museum: Museum, siteurl: str) -> None:
    """It would list what only Pelican knows to be a draft: refused, live or not, until that is wanted or it is gone."""
    arguments = ["publish", "output", "--base-url", siteurl]
    museum.site.configure(SITEURL=siteurl)
    museum.site.write("content/s.md", "Title: S\nCategory: C\nStatus: draft\n\nSoon.\n")
    for month in (1, 2):
        museum.edit(month)
        for step in museum.build, museum.deploy:
            step()
            before = tree(museum.site.output)
            refused = our_command(museum.site.folder, *arguments, check=False)
            assert (refused.returncode, tree(museum.site.output)) == (2, before)
            assert "the Pelican plug-in has published" in refused.stderr
    museum.site.write("resourcesync.toml", 'previous = "output"\n')
    assert "1 created (/drafts/s.html)" in our_command(museum.site.folder, *arguments).stdout
    (museum.site.folder / "resourcesync.toml").unlink()
    shutil.rmtree(museum.site.output / "resourcesync")
    assert our_command(museum.site.folder, *arguments).stdout


# --- moved -------------------------------------------------------------------


def test_move_is_noticed_in_a_fresh_clone(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is live at the new SITEURL; git knows the earlier one: a hint, which never stops a build."""
    museum.publish(1)
    museum.site.configure(SITEURL="http://localhost:8000")
    museum.site.commit("2024-02-01T10:00:00Z")
    museum.site.configure(SITEURL=ARCHIVE)
    museum.site.commit("2024-02-02T10:00:00Z")
    shutil.rmtree(museum.site.folder / ".resourcesync", ignore_errors=True)
    hint = f"SITEURL was {MUSEUM} in an earlier commit, and there is a publication at that URL: if the site has moved"
    for old, is_hinted in ((files(museum.www), True), (status(500), False), (status(404), False)):
        museum.host.manner = hosts({MUSEUM: old, ARCHIVE: status(404)})
        capsys.readouterr()
        museum.build()
        assert museum.state()["generation"] == 1
        first_line = capsys.readouterr().out.splitlines()[0]
        assert first_line.startswith(f"ResourceSync: there is no publication at {ARCHIVE}/{STATE}: this is the first")
        assert (hint in first_line) == is_hinted
    museum.host.manner = hosts({MUSEUM: files(museum.www), ARCHIVE: status(404)})
    museum.build(moved_from=MUSEUM)
    assert museum.state()["generation"] == 2


def test_addresses_are_read_from_the_history_of_the_settings_and_never_run(museum: Museum) -> None:
    """Literals alone, the latest first; what is no address or is this machine's is skipped."""
    conf = museum.site.folder / "pelicanconf.py"
    now = conf.read_text("utf-8")
    texts = [
        "SITEURL = 'http://first.test/'\n",
        "if True:\n    SITEURL: str = 'https://second.test/blog'\n",
        "SITEURL = ''\n",
        "SITEURL = 5\n",
        "SITEURL = 'no address'\n",
        "SITEURL = 'http://127.0.0.1:8000'\n",
        "SITEURL = 'http://third.test'\n)\n",
        "import os\nSITEURL = os.environ['SITEURL']\nOTHER = 'http://other.test'\nraise SystemExit\n",
        now,
    ]
    for text in texts:
        museum.site.write("pelicanconf.py", text, at="2024-01-01T10:00:00Z")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(museum.site.folder)
        pelican = read_settings("pelicanconf.py")
        found = earlier_addresses(museum.site.folder, pelican, MUSEUM)
    assert found == ["http://third.test", "https://second.test/blog", "http://first.test"]
    assert earlier_addresses(museum.www.parent, pelican, MUSEUM) == []  # no repository


# --- The first publication: what counts as one, what stops a build instead, and what lets a build go on


ASSUMED = "this is the first publication, assuming that nothing was public here before"


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what was said of the publication since the last time."""
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("ResourceSync: ")]


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
        f"ResourceSync: warning: nothing was published; the documents in {museum.site.output} are unchanged: "
    )
    assert museum.state() == before
    assert "A text that is new." in (museum.site.output / "a.html").read_text()
    assert (museum.site.output / ".well-known/resourcesync").is_file()
    shutil.rmtree(museum.site.output)
    status_, printed = run(museum.site)
    assert status_ == 1
    assert "'on_error' is 'warn', but the live documents are missing from the output." in printed
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
