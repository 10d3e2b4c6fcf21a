"""A repository with every case of the rules: what is public of it is known by hand.

The demo publishes it too, so nothing here needs a package that only tests have.
"""

from datetime import UTC, datetime
from hashlib import md5

from sample_site.dspace.repository import ADMINISTRATOR, STAFF, Bundle, Container, File, Policy, Sample, Thing, Value

#: When the repositories are looked at.
AT = datetime(2025, 6, 15, 12, tzinfo=UTC)

_YESTERDAY, _TODAY, _TOMORROW = "2025-06-14", "2025-06-15", "2025-06-16"

#: Groups that Anonymous is in, directly and through another, and one that is in Anonymous.
CAMPUS, WORLD, INNER = 3, 4, 5

#: What is public of the sample: the numbers of items, and of files for each (by hand).
PUBLIC = {1: {1, 2}, 2: set(), 8: {80}, 9: set(), 11: {110}, 12: {120}, 13: set(), 16: {160, 161}, 17: set(), 20: set()}

#: What is public of the collections.
PUBLIC_COLLECTIONS = {1, 3}


def every_case(closes: str = _YESTERDAY) -> Sample:
    """Return a repository with every case of the rules; `PUBLIC` says what is public of it.

    One item is public until the day `closes`, which versions of DSpace include or not.
    """
    return Sample(
        items=[*_live(), *_hidden(), *_dated(closes), *_filed(), *_grouped()],
        collections=[
            Container(1, "Coins & medals", parents=(2,)),
            Container(2, "Donors", policies=[Policy(STAFF)]),
            Container(3, "Maps", parents=(3,)),
        ],
        communities=[
            Container(1, "Museum"),
            Container(2, "Cabinet", parents=(1,)),
            Container(3, "Back office", policies=[Policy(ADMINISTRATOR)], parents=(1,)),
        ],
        groups={0: "Anonymous", 1: "Administrator", 2: "Staff", 3: "Campus", 4: "World", 5: "Inner"},
        inside={(CAMPUS, 0), (WORLD, CAMPUS), (0, INNER)},
        expunged=("123456789/99",),
        versions=[(6, 1, None, 3, 2)],  # the first is superseded, the last but one in a workflow
    )


def _titled(text: str, *more: Value) -> list[Value]:
    return [Value("dc.title", text, "en"), Value("dc.date.issued", "2021-05-04"), *more]


def _live() -> list[Thing]:
    """Items that are public, with all that may be in one."""
    metadata = _titled(
        "A penny <of> 'Æthelstan' & sons",
        Value("dc.contributor.author", "Moneyer, Ælfric", place=0),
        Value("dc.contributor.author", "Scribe, Benedict", place=1),
        Value("dc.contributor.advisor", "Reeve, Oda"),
        Value("dc.description.abstract", "Struck at York.\nWorn;\ttwo\\lines.\x0b", "en_GB"),
        Value("dc.description.provenance", "Submitted by Jane Doe (jane@example.org)", "en"),
        Value("dc.identifier.uri", "http://hdl.handle.net/123456789/1"),
        Value("dc.language.iso", "ang"),
        Value("dc.subject", "coins"),
        Value("dc.type", "Physical object"),
        Value("person.email", "jane@example.org"),
        Value("local.note", ""),
    )
    files = [File(2, "back of it.jpg", order=1, sequence=2), File(1, "obverse é.pdf", format=2, order=0)]
    derived = [
        Bundle(2, ("TEXT",), [File(3, "obverse.pdf.txt")]),
        Bundle(3, ("THUMBNAIL",), [File(4, "obverse.pdf.jpg")]),
        Bundle(4, ("LICENSE",), [File(5, "license.txt")]),
        Bundle(5, ("METADATA",), [File(6, "metadata.xml")]),
    ]
    return [
        Thing(1, metadata=metadata, bundles=[Bundle(1, files=files), *derived], collections=(3, 1, 2), owner=1),
        Thing(2, metadata=_titled("No files"), collections=(2,), owner=2),
    ]


def _hidden() -> list[Thing]:
    """Items that are not live or not discoverable (rules 1, 2, 9, 19)."""
    return [
        Thing(3, in_archive=False, metadata=_titled("In workflow"), handles=()),
        Thing(
            4, in_archive=False, withdrawn=True, metadata=_titled("Withdrawn"), last_modified="2025-05-01T00:00:00+00"
        ),
        Thing(
            5, discoverable=False, metadata=_titled("Private"), bundles=[Bundle(50, files=[File(50, "private.pdf")])]
        ),
        Thing(6, in_archive=False, metadata=_titled("Superseded"), bundles=[Bundle(60, files=[File(60, "v1.pdf")])]),
        Thing(7, withdrawn=None, metadata=_titled("Nobody knows")),
    ]


def _dated(closes: str) -> list[Thing]:
    """Policies with dates (rules 5, 13, 20)."""
    opened = [File(80, "open.pdf"), File(81, "later.pdf", policies=[Policy(start="2999-01-01")])]
    for_ever = [Policy(start="10000-01-01")]
    return [
        Thing(8, policies=[Policy(start=_TODAY)], metadata=_titled("Opened today"), bundles=[Bundle(80, files=opened)]),
        Thing(9, policies=[Policy(end=_TOMORROW)], metadata=_titled("Closes tomorrow")),
        Thing(10, policies=[Policy(end=closes)], metadata=_titled("Closed")),
        Thing(
            11, policies=[Policy(start=_TOMORROW), Policy(start=_YESTERDAY)], bundles=[Bundle(110, files=[File(110)])]
        ),
        Thing(14, policies=for_ever, metadata=_titled("Embargoed for ever"), bundles=[Bundle(140, files=[File(140)])]),
        Thing(15, policies=[Policy(start="infinity")], metadata=_titled("Never")),
    ]


def _filed() -> list[Thing]:
    """Files with policies, flags and checksums of their own (rules 6, 7, 11, 16)."""
    several = [
        File(120, "sha.pdf", checksum="ab" * 20, algorithm="SHA1", format=None, size=None),
        File(121, "deleted.pdf", deleted=True),
        File(122, "unclear.pdf", deleted=None),
        File(123, "staff.pdf", policies=[Policy(STAFF)]),
        File(124, "nobody.pdf", policies=[]),
        File(125, "template.pdf", policies=[Policy(action=9), Policy(action=10), Policy(action=11), Policy(action=12)]),
        File(126, "person.pdf", policies=[Policy(group=None, person=7)]),
    ]
    odd = [
        Bundle(130, ("LICENSE", "ORIGINAL"), [File(130)]),
        Bundle(131, (), [File(131)]),
        Bundle(132, (None,), [File(132)]),
    ]
    return [
        Thing(12, metadata=_titled("Some files"), bundles=[Bundle(120, files=several)], collections=(1,), owner=1),
        Thing(13, metadata=_titled("Odd bundles"), bundles=odd, handles=()),
    ]


def _grouped() -> list[Thing]:
    """Items for groups within groups (rule 4)."""
    files = [
        File(160, "campus.pdf", policies=[Policy(CAMPUS)]),
        File(161, "world.pdf", policies=[Policy(WORLD)], order=1),
        File(162, "inner.pdf", policies=[Policy(INNER)]),
    ]
    return [
        Thing(16, policies=[Policy(WORLD)], metadata=_titled("For the world"), bundles=[Bundle(160, files=files)]),
        Thing(17, policies=[Policy(CAMPUS), Policy(STAFF)], metadata=_titled("For the campus")),
        Thing(18, policies=[Policy(INNER)], metadata=_titled("For the inner circle")),
        Thing(19, policies=[], metadata=_titled("For nobody"), bundles=[Bundle(190, files=[File(190)])]),
        Thing(
            20,
            policies=[Policy(action=11), Policy()],
            metadata=_titled("Bundle of staff, levels of security", Value("dc.subject", "secret", security_level=1)),
            bundles=[Bundle(200, files=[File(200, "x.html", format=4)], policies=[Policy(STAFF)])],
        ),
    ]


def stored(sample: Sample) -> dict[str, bytes]:
    """Return each file bytes, its length and MD5 being theirs then; give these by their paths in an assetstore."""
    files = [file for item in sample.items for bundle in item.bundles for file in bundle.files]
    return dict(map(store, files))


def store(file: File) -> tuple[str, bytes]:
    """Return a file bytes; give its path in an assetstore, and these."""
    data = f"The bytes of the file {file.number}.\n".encode() * (1 + file.number % 7)
    file.size = len(data)
    if file.algorithm == "MD5":
        file.checksum = md5(data, usedforsecurity=False).hexdigest()
    name = f"{file.number:038d}"  # the internal id
    return f"{name[:2]}/{name[2:4]}/{name[4:6]}/{name}", data
