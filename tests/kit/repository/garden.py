"""The living repository as it is at first: items, their files, and the bytes of these.

Words that begin with `zq` tell what is public: each stands in one text only.
"""

from datetime import UTC, datetime
from hashlib import md5

from sample_site.dspace.repository import BITSTREAM, STAFF, Bundle, Container, File, Policy, Sample, Thing, Value, key

PREFIX = "123456789/"

CAMPUS = 3
FOR_STAFF = [Policy(STAFF)]


def bytes_of(number: int, edition: int = 1) -> bytes:
    """Return the bytes of a file."""
    return f"The bytes of file {number}, edition {edition}.\n".encode() * (1 + number % 7)


#: When the file of the assetstore gets other bytes.
_OTHER_BYTES = datetime(2025, 4, 1, tzinfo=UTC)


def served_bytes(number: int, at: datetime) -> bytes:
    """Return the bytes that the repository answers with for a file at a time."""
    return bytes_of(number, 2 if number == 230 and at > _OTHER_BYTES else 1)


#: Files by their uuids.
NUMBERS = {key(7, BITSTREAM, number): number for number in range(1000)}


def file_of(number: int, policies: list[Policy] | None = None, name: str = "file.pdf", edition: int = 1) -> File:
    """Make a file whose checksum and size are those of its bytes."""
    data = bytes_of(number, edition)
    return File(
        number, name, [Policy()] if policies is None else policies, size=len(data), checksum=_md5(data), format=2
    )


def _md5(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def item_of(
    number: int, word: str, *files: File, collection: int = 1, handle: str | None = None, **more: object
) -> Thing:
    """Make an item, its files in one bundle."""
    metadata = [
        Value("dc.title", f"A treatise on {word}", "en"),
        Value("dc.contributor.author", "Gardener, Gil"),
        Value("dc.date.issued", "2021-05-04"),
        Value("dc.description.provenance", f"Submitted by zqsubmitter{number} (zqsubmitter{number}@example.org)", "en"),
        Value("person.email", f"zqauthor{number}@example.org"),
    ]
    thing = Thing(number, metadata=metadata, collections=(collection,), owner=collection)
    thing.bundles = [Bundle(number, files=[*files])] if files else []
    thing.handles = (f"{PREFIX}{handle or number}",)
    for name, value in more.items():
        setattr(thing, name, value)
    return thing


def repository() -> Sample:
    """Return the repository as it is at first."""
    return Sample(
        items=[*_public(), *_dated(), *_hidden()],
        collections=[
            Container(1, "Trees", parents=(1,)),
            Container(2, "Herbs", parents=(1,)),
            Container(3, "zqdonors", policies=FOR_STAFF, parents=(1,)),
        ],
        communities=[Container(1, "Garden")],
        groups={0: "Anonymous", 1: "Administrator", 2: "Staff", CAMPUS: "zqcampus"},
        inside={(CAMPUS, 0)},
    )


def _public() -> list[Thing]:
    """Items that are public at first, with a date or without."""
    text = Bundle(1001, ("TEXT",), [file_of(15, name="zqextracted.txt")])
    alder = item_of(1, "zqalder", file_of(10), file_of(11))
    alder.bundles.append(text)
    alder.metadata.append(Value("dc.description.abstract", "On zqbark."))
    secured = Value("dc.subject", "zqlevels", security_level=0)
    cedar = item_of(3, "zqcedar", file_of(30), file_of(31))
    cedar.metadata.append(secured)
    campus = [Policy(CAMPUS)]
    return [
        alder,
        item_of(2, "zqbirch", collection=2),
        cedar,
        item_of(6, "zqgorse", file_of(60), file_of(61, FOR_STAFF, "zqstaff.pdf")),
        item_of(7, "zqhazel", file_of(70)),
        item_of(8, "zqivy", file_of(80)),
        item_of(9, "zqjuniper", file_of(90)),
        item_of(10, "zqkapok", file_of(100)),
        item_of(11, "zqlarch", file_of(110), file_of(111)),
        item_of(12, "zqmaple", file_of(120)),
        item_of(13, "zqnutmeg"),
        item_of(14, "zqoak", file_of(140)),
        item_of(22, "zqwillow", file_of(220), file_of(221)),
        item_of(23, "zqyew", file_of(230)),
        item_of(24, "zqzinnia", file_of(240, campus), policies=campus),
    ]


def _dated() -> list[Thing]:
    """Items that dates make public, or not."""
    lapsing, lapsed = [Policy(start="2025-03-28")], [Policy(start="2025-01-15")]
    later, shortened = [Policy(start="2025-04-01")], [Policy(start="2099-01-01")]
    return [
        item_of(4, "zqelder", file_of(40, lapsing), policies=lapsing),
        item_of(5, "zqfir", file_of(50), file_of(51, later, "later.pdf")),
        item_of(15, "zqpine", file_of(150), policies=[Policy(end="2025-03-30")]),
        item_of(25, "zqalmond", file_of(250, lapsed), policies=lapsed),
        item_of(26, "zqapricot", file_of(260), file_of(261, shortened, "zqmap.pdf")),
    ]


def _hidden() -> list[Thing]:
    """Items that nobody sees at first, or ever."""
    for_ever = [Policy(start="2099-01-01")]
    return [
        item_of(16, "zqquince", file_of(160, for_ever), policies=for_ever),
        item_of(17, "zqrowan", file_of(170, []), in_archive=False, policies=[], handles=()),
        item_of(18, "zqsorrel", file_of(180), in_archive=False, withdrawn=True),
        item_of(19, "zqteak", file_of(190), policies=FOR_STAFF),
        item_of(20, "zqumbel", file_of(200), in_archive=False),
    ]
