"""What a document can hold, as hypothesis strategies."""

import datetime as dt
import string
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from pelican_resourcesync.protocol import (
    Capability,
    ChangeFreq,
    ChangeKind,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
)
from pelican_resourcesync.publication.model.ranges import Calendar, FixedBoundaries
from pelican_resourcesync.settings.publishing import PERIODS

XML_NS = "http://www.w3.org/XML/1998/namespace"

_ODD = "\t\n\r &<>\"'\u0085\u00a0\u2028\ufffd\U0001f600]"
_XML = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.sampled_from(_ODD)
text = st.text(_XML, max_size=12)
#: What a reader takes as it is: it leaves out spaces around a value.
_value = st.text(_XML, min_size=1, max_size=12).map(str.strip).filter(bool)

_printable = "".join(chr(code) for code in range(0x21, 0x7F))
_schemes = st.sampled_from(["https:", "http://example.com/", "gsiftp://", "urn:x:", "tag:"])
uris = st.builds(str.__add__, _schemes, st.text(_printable, min_size=1, max_size=20))

zones = st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=9)), dt.timezone(dt.timedelta(minutes=-210))])
times = st.datetimes(
    min_value=dt.datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=dt.datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=zones,
)

_algorithms = st.text(string.ascii_letters + string.digits + "-&", min_size=1, max_size=8)
_digests = st.text(_printable + "é", min_size=1, max_size=16)
hashes = st.lists(st.builds(Hash, algorithm=_algorithms, digest=_digests), max_size=3).map(tuple)

_spaces = st.sampled_from([XML_NS]) | st.from_regex(r"(urn:x:|https://example\.org/)[a-z0-9&'.]{1,5}", fullmatch=True)
_names = st.from_regex(r"[A-Za-z_é][A-Za-z0-9_.\-·]{0,5}", fullmatch=True)
_clark = st.builds("{{{}}}{}".format, _spaces, _names)
attributes = st.dictionaries(_clark, text, max_size=3).map(lambda items: tuple(sorted(items.items())))

_lengths = st.integers(min_value=0, max_value=10**18 - 1)
_paths = text.map(lambda rest: f"/{rest}")


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Return a value or None."""
    return st.none() | strategy


links = st.builds(
    Link,
    href=uris,
    rel=_value,
    encoding=maybe(text),
    hash=hashes,
    length=maybe(_lengths),
    modified=maybe(times),
    path=maybe(_paths),
    pri=maybe(st.integers(min_value=1, max_value=999_999)),
    type=maybe(text),
    profile=maybe(text),
    attributes=attributes,
)


def metadata(capability: st.SearchStrategy[object]) -> st.SearchStrategy[Metadata]:
    """Return an `rs:md` with any of its attributes, and with the capability asked for."""
    return st.builds(
        Metadata,
        capability=capability,
        at=maybe(times),
        completed=maybe(times),
        from_=maybe(times),
        until=maybe(times),
        change=maybe(st.sampled_from(ChangeKind)),
        datetime=maybe(times),
        modified=maybe(times),
        encoding=maybe(text),
        hash=hashes,
        length=maybe(_lengths),
        path=maybe(_paths),
        type=maybe(text),
        attributes=attributes,
    )


_capabilities = st.sampled_from(Capability) | _value
_link_tuples = st.lists(links, max_size=2).map(tuple)

entries = st.builds(
    Entry,
    loc=uris,
    lastmod=maybe(times),
    changefreq=maybe(st.sampled_from(ChangeFreq)),
    md=maybe(metadata(maybe(_capabilities))),
    links=_link_tuples,
)
documents = st.builds(
    Document,
    root=st.sampled_from(Root),
    md=metadata(_capabilities),
    links=_link_tuples,
    entries=st.lists(entries, max_size=4).map(tuple),
)


# --- What the property tests of publications draw from: times, and where ranges are divided


#: Of some months, on midnight and beside it.
some_times = st.builds(
    lambda day, off: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day, milliseconds=off),
    st.integers(0, 90),
    st.integers(-2, 2),
)
some_boundaries = st.builds(Calendar, st.sampled_from(PERIODS)) | st.builds(
    lambda marks: FixedBoundaries(sorted(marks)), st.lists(some_times, max_size=4)
)
