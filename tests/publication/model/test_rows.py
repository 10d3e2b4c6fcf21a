"""Rows: what is kept as text is what it was, and texts stand in for what they say."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Entry, Link, Metadata, parse_links
from pelican_resourcesync.publication import (
    Representation,
    Row,
    is_later,
    parse_representation,
    parse_time,
    render_time,
)
from pelican_resourcesync.publication.model.resource import render_links, render_representation
from tests.kit.strategies import hashes, links, text, times, uris
from tests.protocol.support import resource_list, written

_hashes = hashes.filter(bool).map(lambda found: found[0])
_types = st.none() | text | st.just('" hash="md5:0')
_representations = st.builds(Representation, st.none() | _hashes, st.none() | st.integers(0, 10**18 - 1), _types)
_links = st.lists(links, max_size=3).map(tuple)


@given(_representations, _representations)
def test_what_bytes_are(one: Representation, other: Representation) -> None:
    """A representation is read as it was written; texts are the same where what they say is, and nowhere else."""
    written = render_representation(one)
    assert parse_representation(written) == one
    assert (written == render_representation(other)) == (one == other)


@given(_links, _links)
def test_links(one: tuple[Link, ...], other: tuple[Link, ...]) -> None:
    """Likewise links, with whatever they may hold."""
    assert parse_links(render_links(one)) == one
    assert (render_links(one) == render_links(other)) == (one == other)


@given(links, st.integers(-12, 12))
def test_the_zone_of_a_link_makes_no_difference(link: Link, hours: int) -> None:
    """One moment is one text, whatever clock tells it."""
    fields = {name: getattr(link, name) for name in Link.__slots__}
    moment = datetime(2024, 2, 29, 12, 0, 0, 250_000, UTC)
    zoned = moment.astimezone(timezone(timedelta(hours=hours)))
    one, other = Link(**fields | {"modified": moment}), Link(**fields | {"modified": zoned})
    assert render_links([one]) == render_links([other])


@given(times, times)
def test_times(one: datetime, other: datetime) -> None:
    """A time is read as it was written, and compared as a time is; one that is not known is before all."""
    assert parse_time(render_time(one)) == one
    assert is_later(render_time(one), render_time(other)) == (one > other)
    assert is_later(render_time(one), "")
    assert not is_later("", render_time(one))


def test_fractions_of_a_second() -> None:
    """By hand: a whole second comes before every part of it, and after every part of the one before."""
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    steps = [timedelta(microseconds=each) for each in (-1, 0, 1, 999, 1_000, 999_999, 1_000_000)]
    for one, other in pairwise(render_time(noon + step) for step in steps):
        assert is_later(other, one)
        assert not is_later(one, other)
        assert not is_later(one, one)


def test_no_time() -> None:
    """It is an empty text, and not later than itself."""
    assert (render_time(None), parse_time("")) == ("", None)
    assert not is_later("", "")


@pytest.mark.parametrize(
    "time",
    [datetime(2024, 2, 29, 12), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9)))],  # noqa: DTZ001
)
def test_a_time_that_no_document_can_hold(time: datetime) -> None:
    """X05: it is refused at once."""
    with pytest.raises(DocumentError, match="X05"):
        render_time(time)


@given(uris, _representations, st.none() | times, _links)
def test_an_entry_of_pieces(uri: str, said: Representation, lastmod: datetime | None, leads: tuple[Link, ...]) -> None:
    """An entry that is put together of its pieces is the one that the `Renderer` writes."""
    row = Row(uri, render_representation(said), render_links(leads), render_time(lastmod))
    md = Metadata(hash=(said.hash,) if said.hash else (), length=said.length, type=said.type)
    entry = Entry(loc=uri, lastmod=lastmod, md=md if said != Representation() else None, links=leads)
    assert written(resource_list(rendered=[row])) == written(resource_list(entry))
