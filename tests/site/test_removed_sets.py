"""Former sets: which they are, and what of them lies in an output."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import Layout, PublicationState, parse_state, render_state
from pelican_resourcesync.site.predecessors import removed_layouts
from tests.e2e.test_sets import IMAGES, NEWS, blog, publish
from tests.support.museum import tree
from tests.support.sites import Site

SITEURL = "https://example.org"
__all__ = ["blog"]


def state(*sets: str, commit: str | None = None) -> PublicationState:
    """Return a state of sets that were published together."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    return PublicationState(generation=1, siteurl=SITEURL, at=at, changes=0, documents={}, sets=sets, commit=commit)


def put(output: Path, name: str, data: bytes) -> None:
    """Let a set be there, as far as its state tells."""
    file = output / Layout(SITEURL, name).state
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def test_sets_are_named_where_there_are_several() -> None:
    """Else a state says nothing of them, and is what it was before there were any."""
    assert parse_state(render_state(state("a", "b"), "a tool"), "it").sets == ("a", "b")
    assert "sets" not in json.loads(render_state(state(), "a tool"))
    assert parse_state(render_state(state(), "a tool"), "it").sets == ()


@pytest.mark.parametrize(
    "sets", [["../a"], ["a/b"], [""], [".a"], [1], [None], 3, ["a\n"], ["A"], ["a" * 101], {"..": 1}]
)
def test_names_are_checked(sets: object) -> None:
    """They are names of folders, what lies in which may be removed."""
    content = {**json.loads(render_state(state(), "a tool")), "sets": sets}
    with pytest.raises(PublicationError, match="it is damaged"):
        parse_state(json.dumps(content).encode(), "it")


def test_what_is_ours_in_an_output(tmp_path: Path) -> None:
    """What was published together with others, or from git; of what cannot be read, nothing is known."""
    put(tmp_path, "together", render_state(state("together", "other"), "a tool"))
    put(tmp_path, "git", render_state(state(commit="1" * 40), "a tool"))
    put(tmp_path, "alone", render_state(state(), "a tool"))
    put(tmp_path, "damaged", b"{")
    put(tmp_path, "site", render_state(state(), "a tool"))
    names = ["together", "git", "alone", "damaged", "site", "absent"]
    assert [each.set_name for each in removed_layouts(tmp_path, SITEURL, names)] == ["together", "git", "site"]


def test_hostile_state_stops_the_build(blog: Site) -> None:
    """Nothing outside the folder of the documents is touched."""
    publish(blog, site={}, news=NEWS, images=IMAGES)
    file = blog.output / "resourcesync/publication.json"
    file.write_bytes(file.read_bytes().replace(b'"news"', b'"../../content"'))
    before = tree(blog.folder / "content"), tree(blog.output / "resourcesync")
    with pytest.raises(PublicationError, match="is not a valid set name"):
        publish(blog, site={})
    assert (tree(blog.folder / "content"), tree(blog.output / "resourcesync")) == before
