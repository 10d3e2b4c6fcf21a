"""The setting `previous`: which publication a build carries forward, or starts over beside, and what stops it."""

import shutil
from datetime import datetime, timedelta, tzinfo
from unittest.mock import patch

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.previous import search
from tests.support.follower import Follower
from tests.support.live import Manner, content, files, hosts, page, served, status
from tests.support.museum import ARCHIVE, HOME, KEPT, MUSEUM, PAGE, STATE, Museum, digest, is_now, tree

# --- a folder, a URL ---------------------------------------------------------


def test_folder_is_relative_to_the_settings(museum: Museum) -> None:
    """A checkout of the published branch beside the site is carried forward; nobody is asked."""
    museum.publish(1)
    shutil.copytree(museum.www, museum.site.folder / "public")
    museum.host.asked()
    museum.edit(2)
    museum.build(previous="public")
    assert (museum.state()["generation"], museum.state()["predecessor"]) == (2, digest(museum.www / STATE))
    assert museum.host.asked() == {}
    assert not (museum.site.folder / KEPT).exists()


def test_folder_without_a_publication_is_the_first(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty branch: the first publication, and a line says so."""
    (museum.site.folder / "public").mkdir()
    museum.edit(1)
    museum.build(previous="public")
    line = f"there is no publication of a public site in {museum.site.folder / 'public'}: this is the first publication"
    assert f"ResourceSync: {line}." in capsys.readouterr().out
    assert museum.state()["generation"] == 1


def test_folder_whose_publication_is_damaged_stops_the_build(museum: Museum) -> None:
    """The sentence names the file, or the document."""
    museum.publish(1)
    public = museum.site.folder / "public"
    shutil.copytree(museum.www, public)
    museum.site.configure(RESOURCESYNC={"previous": "public"})
    (public / HOME / "resourcelist.xml").write_bytes(b"")
    assert f"the publication in {public} is damaged: {HOME}/resourcelist.xml does not match" in museum.stops()
    (public / STATE).write_bytes(b"{")
    assert f"{public / STATE} is damaged" in museum.stops()


def test_url_of_a_copy(museum: Museum) -> None:
    """The copy is carried forward, whatever is live, and is not taken for what is live."""
    museum.publish(1)
    museum.host.manner = hosts({ARCHIVE: files(museum.www), MUSEUM: status(500)})
    museum.edit(2)
    museum.build(previous=f"{ARCHIVE}/")
    assert museum.state()["generation"] == 2
    assert not (museum.site.folder / KEPT).exists()


def test_url_without_a_publication_stops_the_build(museum: Museum) -> None:
    """Who names a copy has one."""
    museum.publish(1)
    museum.host.manner = hosts({ARCHIVE: status(404)})
    museum.site.configure(RESOURCESYNC={"previous": ARCHIVE})
    assert (
        f"there is no publication at {ARCHIVE}/{STATE}: correct the setting `previous`, or publish once"
        in museum.stops()
    )


# --- the output --------------------------------------------------------------


def test_site_on_loopback_is_nobodys_live_site(museum: Museum) -> None:
    """There "live" means the output: nobody is asked."""
    museum.site.configure(SITEURL="http://localhost:8000")
    for month in (1, 2):
        museum.edit(month)
        museum.build_again()
        assert museum.state()["generation"] == month
    assert museum.host.asked() == {}


def test_output_is_read_before_it_is_cleaned(museum: Museum) -> None:
    """For those who serve from it, by any name that it has; once it is removed, there was none."""
    for month, where in enumerate(("output", "output", "content/../output"), start=1):
        museum.edit(month)
        museum.build_again(previous=where)
        assert museum.state()["generation"] == month
    museum.build(previous="output")
    assert museum.state()["generation"] == 1
    assert museum.host.asked() == {}


# --- starting over ---------------------------------------------------------------


@pytest.mark.promise("Continued")
def test_starting_over_leaves_every_public_address_to_what_is_there(
    museum: Museum, capsys: pytest.CaptureFixture[str]
) -> None:
    """New addresses, which the pages' heads name; uploaded over what is public, no old document has other bytes."""
    museum.publish(1)
    museum.publish(2)
    old = {path: data for path, (data, _) in tree(museum.www / HOME).items() if not path.endswith(PAGE)}
    museum.edit(3)
    capsys.readouterr()
    museum.build(first=True)
    said = capsys.readouterr().out
    state = museum.state()
    number = state["restart_number"]
    assert is_now(number)
    new = f"{HOME}/{number}/"
    assert f"the publication starts over in {new}: do not set RESOURCESYNC_FIRST again when it is public." in said
    assert "first publication" in said
    assert (state["generation"], state["predecessor"]) == (3, digest(museum.www / STATE))
    assert f"{MUSEUM}/{new}capabilitylist.xml" in (museum.site.output / "a.html").read_text()
    assert {path for path in tree(museum.site.output / HOME) if not path.startswith(f"{number}/")} == {*PAGE}
    shutil.copytree(museum.site.output, museum.www, dirs_exist_ok=True)
    there = {path: data for path, (data, _) in tree(museum.www / HOME).items() if not path.startswith(f"{number}/")}
    assert {path: data for path, data in there.items() if path not in PAGE} == old
    museum.edit(4)
    museum.build()
    assert (museum.state()["generation"], museum.state()["restart_number"]) == (4, number)
    with served(museum.site.output) as address:
        follower = Follower(address, MUSEUM)
        assert follower.baseline() == []
        assert follower.audit() == []


class EarlierClock(datetime):
    """A clock of a minute ago."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "EarlierClock":
        """Return the time of a minute ago."""
        return super().now(tz) - timedelta(minutes=1)


@pytest.mark.promise("Continued")
def test_started_over_again(museum: Museum) -> None:
    """At other addresses each time, also by a clock that is slow, and where nothing knows what was rolled back."""
    museum.publish(1)
    with patch.object(search, "datetime", EarlierClock):  # two starts in one second would have one address
        museum.build(first=True)
    started = museum.state()["restart_number"]
    museum.site.output.rename(museum.www.with_name("second"))
    museum.build_again(first=True)  # what is live was rolled back
    again = museum.state()["restart_number"]
    assert started < again
    assert is_now(again)
    museum.deploy()
    ahead = 29991231235959
    state = (museum.www / STATE).read_bytes()
    (museum.www / STATE).write_bytes(
        state.replace(f'"restart_number": {again}'.encode(), b'"restart_number": %d' % ahead)
    )
    museum.build(first=True)
    assert (museum.state()["restart_number"], museum.state()["generation"]) == (ahead + 1, 3)


@pytest.mark.parametrize("where", ["the output", "a folder", "a URL", "an unknown URL"])
def test_starting_over_where_the_host_hides_it(museum: Museum, where: str) -> None:
    """The host says that nothing is there, but what `previous` leads to may be public: it keeps its addresses."""
    museum.publish(1)
    copy = museum.www.with_name("copy")
    museum.www.rename(copy)  # as by a host that does not serve JSON
    hidden = status(500) if "unknown" in where else files(copy)
    museum.host.manner = hosts({MUSEUM: status(404), ARCHIVE: hidden})
    previous = {"the output": "output", "a folder": str(copy)}.get(where, ARCHIVE)
    museum.edit(2)
    if where != "the output":
        shutil.rmtree(museum.site.output)
    museum.build_again(first=True, previous=previous)
    assert is_now(museum.state()["restart_number"])
    assert museum.state()["generation"] == (1 if "unknown" in where else 2)
    assert tree(copy / HOME).keys() & tree(museum.site.output / HOME).keys() == {*PAGE}


@pytest.mark.parametrize("siteurl", [MUSEUM, "http://localhost:8000"])
def test_starting_over_where_nothing_is(museum: Museum, siteurl: str) -> None:
    """The host may have lost what was public, or have a page for everything while it is down: the time is safe."""
    museum.site.configure(SITEURL=siteurl)
    museum.edit(1)
    for manner in (status(404), page):
        museum.host.manner = manner
        museum.build(first=True)
        assert is_now(museum.state()["restart_number"])
        assert (museum.state()["generation"], museum.state()["predecessor"]) == (1, None)


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    "manner",
    [status(500), status(403), content(b"Hello", Content_Type="text/plain"), content(b"{"), content(b'{"format": 9}')],
    ids=["500", "403", "text", "damaged", "newer"],
)
def test_starting_over_where_nothing_can_be_known(museum: Museum, manner: Manner) -> None:
    """Which addresses are taken is not guessed: the time names new ones. What the message says always works."""
    museum.publish(1)
    public = tree(museum.www)
    museum.host.manner = manner
    museum.edit(2)
    assert "publish once with RESOURCESYNC_FIRST=1 in the environment" in museum.stops()
    museum.build(first=True)
    state = museum.state()
    assert is_now(state["restart_number"])
    assert f"{HOME}/{state['restart_number']}/resourcelist.xml" in state["documents"]
    assert not [path for path in tree(museum.site.output / HOME) if path in public and path not in PAGE]
    museum.deploy()
    museum.host.manner = files(museum.www)
    museum.edit(3)
    museum.build()
    assert museum.state()["restart_number"] == state["restart_number"]
    assert museum.state()["generation"] == state["generation"] + 1


def test_starting_over_over_a_damaged_output(museum: Museum) -> None:
    """Also in an output that is nobody's live site."""
    museum.site.configure(SITEURL="http://localhost:8000")
    museum.edit(1)
    museum.build()
    (museum.site.output / STATE).write_bytes(b"{")
    with pytest.raises(PublicationError, match="is damaged"):
        museum.build_again()
    museum.build_again(first=True)
    assert is_now(museum.state()["restart_number"])


def test_starting_over_where_the_host_is_not_found(museum: Museum, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be public all the same: what is in the output keeps its addresses, and so does what nobody here knows."""
    monkeypatch.delenv("http_proxy")
    museum.site.configure(SITEURL="http://nobody.invalid")
    museum.edit(1)
    museum.build()
    old = tree(museum.site.output / HOME)
    museum.edit(2)
    museum.build_again(first=True)
    number = museum.state()["restart_number"]
    assert is_now(number)
    assert museum.state()["generation"] == 2
    assert (museum.site.output / HOME / f"{number}/capabilitylist.xml").is_file()
    assert old.keys() & tree(museum.site.output / HOME).keys() == {*PAGE}


def test_starting_over_knows_what_was_live_before(museum: Museum) -> None:
    """A site that lost its documents has followers all the same: what was last seen live keeps its addresses."""
    museum.publish(1)
    museum.build()
    museum.host.manner = status(404)
    museum.build(first=True)
    assert is_now(museum.state()["restart_number"])
    assert museum.state()["generation"] == 2
    (museum.site.folder / KEPT / STATE).write_bytes(b"{")
    museum.build(first=True)
    assert is_now(museum.state()["restart_number"])


# --- the disk ----------------------------------------------------------------


def test_disk_that_fails_is_one_sentence(museum: Museum) -> None:
    """No room or no leave to write: what was built and what stands there is said, and what to do."""
    museum.publish(1)
    museum.site.configure(PATH=".", ARTICLE_PATHS=["content"], PAGE_PATHS=[])
    museum.site.write(".resourcesync/saved.part", "in the way")
    sentence = museum.stops()
    assert "error: nothing can be built: " in sentence
    assert "move away what is in its place" in sentence
