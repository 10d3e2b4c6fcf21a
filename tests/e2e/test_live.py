"""The live site: what a build carries forward from what is public, and when it stops, over real HTTP.

The sites have public names. The loopback server is asked for them as a proxy, so nothing is patched.
"""

import shutil
from collections.abc import Callable

import pytest
from pelican.settings import read_settings

from pelican_resourcesync.publication import HashedState
from pelican_resourcesync.publishers.pelican.predecessors import earlier_addresses
from tests.support.live import Ask, Manner, content, files, first, front, hosts, late, page, status
from tests.support.museum import ARCHIVE, HOME, KEPT, MUSEUM, STATE, Museum, digest, tree

#: A host with a page for absent files.
SOFT = front(b"<title>Museum</title><p>Welcome", page)

# --- carried forward ---------------------------------------------------------


def test_what_was_verified_is_not_fetched_again(museum: Museum) -> None:
    """What was seen live lies beside the settings; the next build asks for what is new alone."""
    museum.publish(1)
    museum.publish(2)
    museum.publish(3)
    assert tree(museum.site.folder / KEPT).keys() < tree(museum.www).keys()
    museum.host.asked()
    museum.build()
    asked = museum.host.asked()
    assert asked.pop(STATE) == 1
    assert set(asked) == {f"{HOME}/{name}" for name in asked_for(museum)}
    assert museum.state()["generation"] == 3
    museum.build()
    assert museum.host.asked() == {STATE: 1}


def asked_for(museum: Museum) -> set[str]:
    """Name the documents of the live publication that the one before did not have."""
    new = {"resourcelist.xml", "changelist.xml", "changelist-archive.xml", "capabilitylist.xml"}
    lists = sorted(file.stem for file in (museum.www / HOME).glob("changelist-2*"))[-2:]
    pages = [each.replace("changelist-", "changes/") for each in lists]  # the one before links to the new one
    shown = {*(f"{each}.html" for each in pages), f"{pages[-1]}.json"}
    return {*(f"{each}.xml" for each in lists), *shown, *new} - {"capabilitylist.xml"}


def test_caches_are_passed(museum: Museum) -> None:
    """A cache that answers each address from memory is asked in a way that it must ask the site."""
    museum.publish(1)
    old = {path: data for path, (data, _) in tree(museum.www).items()}
    museum.publish(2)

    def stale(ask: Ask) -> None:
        fresh = ask.query and "no-cache" in ask.headers["Cache-Control"]
        (files(museum.www) if fresh else content(old.get(ask.path, b"")))(ask)

    museum.host.manner = stale
    museum.edit(3)
    museum.build()
    assert museum.state()["generation"] == 3


@pytest.mark.promise("Continued")
def test_deployment_under_way_is_waited_for(museum: Museum) -> None:
    """The new `publication.json` is there before its documents are: asked again, all is one publication."""
    museum.publish(1)
    old = tree(museum.www)
    museum.publish(2)
    late_one = f"{HOME}/resourcelist.xml"
    museum.host.manners[late_one] = first(1, content(old[late_one][0]), files(museum.www))
    museum.edit(3)
    museum.build()
    assert museum.state()["generation"] == 3
    assert museum.host.asked()[late_one] >= 2


# --- nothing there -----------------------------------------------------------


@pytest.mark.parametrize("manner", [status(404), status(410), SOFT], ids=["404", "410", "HTML"])
def test_nothing_there_is_the_first_publication(
    museum: Museum, manner: Manner, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host without a publication, or with a page for any path: one line says so."""
    museum.host.manner = manner
    museum.edit(1)
    museum.build()
    lines = [line for line in capsys.readouterr().out.splitlines() if "ResourceSync: " in line]
    line = "this is the first publication, assuming that nothing was public here before"
    assert lines[0] == f"ResourceSync: there is no publication at {MUSEUM}/{STATE}: {line}."
    assert len(lines) == 2
    assert museum.state()["generation"] == 1


@pytest.mark.promise("Continued")
@pytest.mark.parametrize("manner", [status(404), SOFT], ids=["404", "HTML"])
def test_nothing_there_any_more_goes_on_from_what_was_last_seen(
    museum: Museum, manner: Manner, capsys: pytest.CaptureFixture[str]
) -> None:
    """A site that lost its documents: the publication last seen live is carried forward, and a line says so."""
    museum.publish(1)
    museum.publish(2)  # sees the first
    museum.edit(3)
    museum.build()  # sees the second
    museum.host.manner = manner
    museum.edit(4)
    capsys.readouterr()
    museum.build()
    said = capsys.readouterr().out
    assert f"there is no publication at {MUSEUM}/{STATE}: the copy last seen live is continued." in said
    assert (museum.state()["generation"], museum.state()["predecessor"]) == (3, digest(museum.www / STATE))


def test_publication_for_this_machine_alone_is_nobodys(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """What was built for localhost and uploaded by mistake is not carried forward, and a line says so."""
    museum.edit(1)
    museum.site.build(SITEURL="http://localhost:8000")
    museum.deploy()
    museum.build()
    said = capsys.readouterr().out
    assert (
        "the live publication is for http://localhost:8000, which is this machine: this is the first publication, assum"
        in said
    )
    assert museum.state()["generation"] == 1
    assert not (museum.site.folder / KEPT).exists()


# --- stops -------------------------------------------------------------------


def damaged(museum: Museum) -> Manner:
    """Answer with one document that is not what it was."""
    good = files(museum.www)
    return lambda ask: (content(b"<urlset/>") if ask.path.endswith("resourcelist.xml") else good)(ask)


def half(museum: Museum) -> Manner:
    """Answer with the new `publication.json` over the documents of before, for good."""
    museum.edit(2)
    museum.build()
    new = (museum.site.output / STATE).read_bytes()
    good = files(museum.www)
    return lambda ask: (content(new, Content_Type="application/json") if ask.path == STATE else good)(ask)


def newer(museum: Museum) -> Manner:
    """Answer with a state of a format to come."""
    return content(b'{"format": 2}', Content_Type="application/json")


@pytest.mark.promise("All or nothing")
@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    ("manner", "why"),
    [
        (lambda _: status(500), f"{MUSEUM}/{STATE}: the server answered 500 Internal Server Error"),
        (lambda museum: late(20, files(museum.www)), "no answer for 2 seconds"),
        (damaged, "resourcelist.xml is another file: the publication is damaged, or its deployment is not done"),
        (half, "is another file: the publication is damaged, or its deployment is not done"),
        (newer, "has the format 2, which this version cannot read: update pelican-resourcesync"),
        (lambda _: lambda ask: ask.send(302, b"", Location="http://elsewhere.test/"), "redirects elsewhere"),
        (lambda _: page, f"{MUSEUM}/{STATE} is an HTML page, as is the front page: the site may be in maintenance"),
    ],
    ids=["500", "slow", "damaged", "half deployed", "newer", "redirected", "maintenance"],
)
def test_what_cannot_be_known_stops_the_build(museum: Museum, manner: Callable[[Museum], Manner], why: str) -> None:
    """One sentence says why and what to do; what is there and what is kept stay, and the next build goes on."""
    museum.publish(1)
    museum.host.manner = manner(museum)
    museum.edit(3)
    sentence = museum.stops()
    assert why in sentence
    assert sentence.count("RESOURCESYNC_FIRST=1") == 1
    assert "what is published stays as it is: try again later, or publish once with RESOURCESYNC_FIRST=1" in sentence
    museum.host.manner = files(museum.www)
    museum.build_again()
    assert museum.state()["generation"] == 2


# --- copies ------------------------------------------------------------------


@pytest.mark.promise("Continued")
def test_site_that_was_rolled_back_goes_on_from_what_was_live(
    museum: Museum, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host redeployed an old build: what was live after it is carried forward, so that no follower is lost."""
    museum.publish(1)
    shutil.copytree(museum.www, museum.www.with_name("first"))
    museum.publish(2)
    newest = digest(museum.www / STATE)
    museum.edit(3)
    museum.build()  # sees the second
    shutil.rmtree(museum.www)
    shutil.copytree(museum.www.with_name("first"), museum.www)
    capsys.readouterr()
    museum.build()
    line = "the live site is back at generation 1: generation 2, last seen live, is continued"
    assert line in capsys.readouterr().out
    assert (museum.state()["generation"], museum.state()["predecessor"]) == (3, newest)
    museum.deploy()
    museum.edit(4)
    museum.build()
    assert "carried forward" not in capsys.readouterr().out
    assert museum.state()["generation"] == 4


@pytest.mark.promise("Continued")
def test_two_publications_apart_stop_the_build(museum: Museum) -> None:
    """Two machines went on from one publication: neither descends from the other: the user has to choose."""
    museum.publish(1)
    shutil.copytree(museum.www, museum.www.with_name("first"))
    museum.publish(2)
    museum.edit(3)
    museum.build()  # sees the second
    shutil.copytree(museum.site.folder / KEPT, museum.www.with_name("kept"))
    shutil.rmtree(museum.site.folder / KEPT)
    shutil.rmtree(museum.www)
    shutil.copytree(museum.www.with_name("first"), museum.www)
    museum.edit(4)
    museum.build()  # another machine, that never saw the second
    museum.deploy()
    shutil.rmtree(museum.site.folder / KEPT)
    shutil.copytree(museum.www.with_name("kept"), museum.site.folder / KEPT)
    sentence = museum.stops()
    assert "the live publication (generation 2) and the one last seen live (generation 2, in " in sentence
    assert "do not descend from each other" in sentence
    assert "remove that folder to continue the live one" in sentence
    shutil.rmtree(museum.site.folder / KEPT)
    museum.edit(5)
    museum.build_again()
    assert museum.state()["generation"] == 3


def test_kept_copy_that_is_damaged_gives_way_to_what_is_live(
    museum: Museum, capsys: pytest.CaptureFixture[str]
) -> None:
    """The live site is what is public; a copy that cannot be read is replaced, and a line says so.

    A document that is damaged is fetched again, also where nothing new is live.
    """
    museum.publish(1)
    museum.publish(2)
    museum.build()
    damaged = museum.site.folder / KEPT / HOME / "resourcelist.xml"
    damaged.write_bytes(b"")
    museum.build()
    assert damaged.read_bytes() == (museum.www / HOME / "resourcelist.xml").read_bytes()
    (museum.site.folder / KEPT / STATE).write_bytes(b"{")
    capsys.readouterr()
    museum.publish(3)
    assert "the copy last seen live cannot be read, and the live publication replaces it" in capsys.readouterr().out
    assert museum.state()["generation"] == 3
    assert HashedState.parse((museum.site.folder / KEPT / STATE).read_bytes(), "kept").state.generation == 2


def test_kept_copy_that_is_needed_and_damaged_stops_the_build(museum: Museum) -> None:
    """Gone from the site and damaged here: that is said, with the file."""
    museum.publish(1)
    museum.build()
    museum.host.manner = status(404)
    for data in (b"{", b'{"format": 9}'):
        (museum.site.folder / KEPT / STATE).write_bytes(data)
        assert f"{museum.site.folder / KEPT / STATE}" in museum.stops()
    (museum.site.folder / KEPT / STATE).write_bytes((museum.www / STATE).read_bytes())
    (museum.site.folder / KEPT / HOME / "resourcelist.xml").write_bytes(b"")
    assert f"the publication in {museum.site.folder / KEPT} is damaged" in museum.stops()


# --- moved -------------------------------------------------------------------


def test_site_that_moved_to_another_host(museum: Museum) -> None:
    """Its publication is found where the site was: old URLs are deleted and new ones created, for who follows."""
    museum.publish(1)
    museum.publish(2)
    museum.host.manner = hosts({MUSEUM: files(museum.www), ARCHIVE: status(404)})
    museum.site.configure(SITEURL=ARCHIVE)
    museum.edit(3)
    sentence = museum.stops()  # known here from what was last seen live
    assert f"the previous publication is for {MUSEUM}, this one would be for {ARCHIVE}" in sentence
    assert f"set moved_from to '{MUSEUM}' if the site has moved" in sentence
    shutil.rmtree(museum.site.folder / ".resourcesync")
    museum.build(moved_from=MUSEUM)
    state = museum.state()
    assert (state["generation"], state["siteurl"]) == (3, ARCHIVE)
    assert sorted(museum.site.changes()[-2:]) == [
        ("2024-03-01T10:00:00Z", "created", "/a.html"),
        ("2024-03-01T10:00:00Z", "deleted", f"{MUSEUM}/a.html"),
    ]
    # From now on the site is live at its new address; `moved_from` may stay.
    shutil.copytree(museum.site.output, museum.www.with_name("new"))
    museum.host.manner = hosts({ARCHIVE: files(museum.www.with_name("new"))})
    museum.edit(4)
    museum.build(moved_from=MUSEUM)
    assert museum.state()["generation"] == 4
    museum.build()
    assert museum.state()["generation"] == 4


def test_site_that_changed_its_scheme(museum: Museum) -> None:
    """What is live at the new address is of the old one: the build stops, until the settings say that it has moved."""
    old = "https://museum.test"
    museum.site.configure(SITEURL=old)
    museum.edit(1)
    museum.build(previous="output")
    museum.deploy()
    museum.site.configure(SITEURL=MUSEUM)
    museum.edit(2)
    assert f"set the address back, or set moved_from to '{old}' if the site has moved" in museum.stops()
    museum.build(moved_from=old)
    assert museum.state()["generation"] == 2
    assert sorted(kind for _, kind, _ in museum.site.changes()) == ["created", "created", "deleted"]


def test_move_is_noticed_in_a_fresh_clone(museum: Museum, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is live at the new SITEURL; git knows the earlier one: a hint, which never stops a build."""
    museum.publish(1)
    museum.site.configure(SITEURL="http://localhost:8000")
    museum.site.commit("2024-02-01T10:00:00Z")
    museum.site.configure(SITEURL=ARCHIVE)
    museum.site.commit("2024-02-02T10:00:00Z")
    shutil.rmtree(museum.site.folder / ".resourcesync", ignore_errors=True)
    hint = f"SITEURL was {MUSEUM} in an earlier commit, and a publication is there: if the site has moved"
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
        museum.site.write("pelicanconf.py", text)
        museum.site.commit("2024-01-01T10:00:00Z")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(museum.site.folder)
        pelican = read_settings("pelicanconf.py")
        found = earlier_addresses(museum.site.folder, pelican, MUSEUM)
    assert found == ["http://third.test", "https://second.test/blog", "http://first.test"]
    assert earlier_addresses(museum.www.parent, pelican, MUSEUM) == []  # no repository
