"""The last publication while Pelican builds: it stays in the output, and no kill or cleaning loses it."""

from textwrap import dedent

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import DESCRIPTION, WELL_KNOWN
from pelican_resourcesync.publishers.pelican import session
from tests.kit.museum import Tree, tree
from tests.kit.sites import Site, run, strip

OTHER = "resourcesync/other"

#: Kills the build once the output was cleaned.
KILLER = """
    import os, signal
    from pelican import signals

    def kill(generators):
        os.kill(os.getpid(), signal.SIGKILL)

    def register():
        signals.all_generators_finalized.connect(kill)
"""


@pytest.mark.parametrize("publishes", [True, False])
def test_well_known_copy_comes_back(flat: Site, monkeypatch: pytest.MonkeyPatch, *, publishes: bool) -> None:
    """With the time of its other copy: where nothing changed, and where nothing is published."""
    flat.configure(RESOURCESYNC={"previous": "output", "on_error": "warn"})
    flat.build()
    before = (flat.output / WELL_KNOWN).read_bytes(), (flat.output / DESCRIPTION).stat().st_mtime_ns
    if not publishes:
        monkeypatch.setattr(session.Publisher, "__init__", fail)
    flat.build()
    assert ((flat.output / WELL_KNOWN).read_bytes(), (flat.output / WELL_KNOWN).stat().st_mtime_ns) == before


def fail(*_: object) -> None:
    """Raise the error of a damaged publication."""
    message = "it is damaged"
    raise PublicationError(message)


# --- real builds -------------------------------------------------------------


@pytest.fixture
def flat(site: Site) -> Site:
    """Return a site whose output lies among its sources."""
    strip(site)
    site.configure(PATH=".", ARTICLE_EXCLUDES=["theme", "plugins"], PAGE_PATHS=[], PLUGIN_PATHS=["plugins"])
    site.write("plugins/killer.py", dedent(KILLER))
    site.write("a.md", "Title: A\nDate: 2024-01-01\n\nText.\n")
    site.commit("2024-01-01T10:00:00Z")
    return site


def kill(site: Site) -> None:
    """Build, and be killed once the output was cleaned."""
    status, _ = run(site, "--extra-settings", 'PLUGINS=["killer", "pelican_resourcesync"]')
    assert status == -9


def documents(site: Site) -> Tree:
    """Return the documents of the output."""
    return tree(site.output / "resourcesync")


def test_killed_build_is_followed_by_one_that_publishes_nothing(flat: Site) -> None:
    """The documents stay in the output, and the next build that publishes continues them."""
    flat.build()
    before = documents(flat)
    kill(flat)
    assert documents(flat) == before
    flat.build(SITEURL="")
    assert documents(flat) == before
    flat.build()
    assert documents(flat) == before


def test_what_is_ours_is_never_published(flat: Site) -> None:
    """Where all files beside the settings are static files, ours are not; the site's own stay what they are."""
    flat.configure(STATIC_PATHS=["./"], STATIC_EXCLUDES=[".git"], RESOURCESYNC={"previous": "output"})
    flat.write("b.txt", "b")
    flat.write("texts/resourcesync/c.txt", "c")
    flat.commit("2024-02-01T10:00:00Z")
    for place in ("live", "cache"):
        flat.write(f".resourcesync/{place}/x.txt", "x")
        flat.write(f".resourcesync/{place}/x.md", "Title: X\nDate: 2024-01-01\n\nText.\n")
    for _ in range(2):
        flat.build()
        assert (flat.output / "b.txt").is_file()
        assert not [*flat.output.rglob("x.*"), *flat.output.rglob(".resourcesync"), *flat.output.rglob("output")]
    assert flat.resources().keys() >= {"/b.txt", "/texts/resourcesync/c.txt"}
    assert not [path for path in flat.resources() if "/x." in path or "publication.json" in path]


@pytest.mark.promise("All or nothing")
def test_killed_build_loses_no_set(flat: Site) -> None:
    """Its sets and another's outlive it in the output, are no sources, and the next build continues all."""
    named = {"pages": {"paths": ["*.html"]}, "texts": {"paths": ["*.txt"]}}
    flat.configure(STATIC_PATHS=["texts"], RESOURCESYNC={"previous": "output", "dumps": True, "sets": named})
    flat.write("texts/b.txt", "b")
    flat.commit("2024-01-02T10:00:00Z")
    flat.build()
    flat.write(f"output/{OTHER}/publication.json", "theirs")
    flat.write(f"output/{OTHER}/page.html", "<title>No article</title><meta name='date' content='2024-01-01'/>")
    before = documents(flat)
    flat.write("texts/b.txt", "another b", at="2024-02-01T10:00:00Z")
    for _ in range(2):
        kill(flat)
        assert documents(flat) == before
    assert flat.git("status", "--porcelain") == ""
    status, said = run(flat)
    assert status == 0
    assert "1 article," in said
    assert "texts: 1 resource, 2 changes" in said
    assert "nothing changed" in said.split("pages: ")[1].splitlines()[0], said
    after = documents(flat)
    for path in ("other/publication.json", "other/page.html"):
        assert after[path] == before[path]
    assert {path for path in before if path.startswith("pages/")} == {p for p in after if p.startswith("pages/")}
