"""Which bitstreams share a package, and that it is never larger than asked for."""

import random
from datetime import datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.protocol import ChangeKind, Entry, Hash, Metadata
from pelican_resourcesync.publication.kinds.packages import (
    FRAME_SIZE,
    HEAD_SIZE,
    PackageMember,
    PackageSize,
    size_in_package,
)
from pelican_resourcesync.publication.model.resource import (
    Representation,
    Row,
    render_representation,
    render_time,
)
from tests.kit.publications import SITEURL
from tests.publication.kinds.dumps.support import CHANGES, bitstream, deletion, packed, portions


def test_the_bounds_stay() -> None:
    """As calculated by hand: with others, a new version would divide resources anew, and each copy would notice."""
    member = 30 + 20 + 46 + 28 + 2 * 200  # the headers of ZIP with their extra fields, and the longest name, twice
    assert 4_096 + 4 + 64 + member + 22 + 56 + 20 == FRAME_SIZE
    assert size_in_package(deletion("a.html")) == (386 + 1, 1, 386)
    assert size_in_package(bitstream("a.html", b"x" * 5_000, "text/html")) == (
        448 + 1 + member + 5_000 + 4 + 64,
        1,
        448,
    )


def test_manifests_have_a_limit_of_their_own() -> None:
    """X04: many deletions weigh little in a ZIP file, and yet their manifest has a limit."""
    limits = PackageSize(manifest=HEAD_SIZE + 2_000)
    found = [list(each) for each in portions((deletion(f"{number}.html") for number in range(9)), limits)]
    assert len(found) > 1
    assert all(len(packed(each, CHANGES)[1]) <= limits.manifest for each in found)
    assert sum(map(len, found)) == 9


_NAMES = st.one_of(
    st.text("abc&'/%", min_size=1, max_size=10),
    st.sampled_from(
        ["&" * 300, "%26" * 200, "'" * 150 + ".html", "a/" * 150, "%27/" * 100, "%E5%8F%A4" * 80, "", "?" + "&" * 90]
    ),
)
_NOISE = random.Random(5).randbytes(70_000)
_DATA = st.one_of(
    st.binary(max_size=300), st.integers(0, 70_000).map(lambda n: _NOISE[:n]), st.integers(0, 70_000).map(bytes)
)
_TYPES = st.sampled_from(["text/html", "image/jpeg", "application/octet-stream", "text/x-&'<>"])
_CHANGES = st.sampled_from([None, *ChangeKind])


@st.composite
def _bitstreams(draw: st.DrawFn) -> PackageMember:
    path, data, kind = draw(_NAMES), draw(_DATA), draw(_TYPES)
    if draw(st.booleans()):
        return deletion(path)
    return bitstream(path, data, kind, change=draw(_CHANGES), lastmod=draw(st.none() | _TIMES))


_TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2110, 1, 1), timezones=st.timezones())  # noqa: DTZ001 - hypothesis adds the zone


@given(st.lists(_bitstreams(), max_size=8))
def test_no_package_is_larger_than_its_weight(bitstreams: list[PackageMember]) -> None:
    """Whatever names, bytes and entries: ZIP file and manifest are no larger than the sum of the bounds."""
    package, manifest = packed(bitstreams, CHANGES)
    weights = [size_in_package(each) for each in bitstreams]
    assert len(package) <= FRAME_SIZE + sum(each.size for each in weights)
    assert len(manifest) <= len(packed([], CHANGES)[1]) + sum(each.manifest for each in weights)


@given(st.lists(_bitstreams(), min_size=1, max_size=8), st.integers(0, 200_000), st.integers(1, 5))
def test_any_division(bitstreams: list[PackageMember], size: int, entries: int) -> None:
    """Whatever the limits: nothing is lost, no package is larger, and none could have been sure to take one more."""
    limits = PackageSize(size=FRAME_SIZE + size, entries=entries)
    found = [list(each) for each in portions(bitstreams, limits)]
    assert [each for portion in found for each in portion] == bitstreams
    for portion in found:
        assert 1 <= len(portion) <= entries
        assert len(portion) == 1 or len(packed(portion, CHANGES)[0]) <= limits.size
    for before, after in pairwise(found):
        weights = [size_in_package(each).size for each in [*before, after[0]]]
        assert len(before) == entries or FRAME_SIZE + sum(weights) > limits.size


@given(_NAMES, st.integers(0, 10**12), _TYPES | st.none(), st.sampled_from(["sha-256", "md5", ""]), _TIMES)
def test_the_bitstream_of_a_row(path: str, length: int, media_type: str | None, algorithm: str, time: datetime) -> None:
    """A row in a Resource List and its entry make the same bitstream."""
    hash_ = Hash(algorithm=algorithm, digest="0a" * 16) if algorithm else None
    said = Representation(hash_, length, media_type)
    uri = f"{SITEURL}/{path}"
    row = Row(uri, render_representation(said), "", render_time(time))
    md = Metadata(hash=(hash_,) if hash_ else (), length=length, type=media_type)
    entry = Entry(loc=uri, lastmod=time, md=md if said != Representation() else None)
    assert PackageMember.of_row(row)._replace(modified=None) == PackageMember.of(entry)._replace(modified=None)
