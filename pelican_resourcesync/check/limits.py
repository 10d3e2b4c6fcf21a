"""Every limit of the checker, in one place: what is larger is not read, and a finding or an error says so."""

from dataclasses import dataclass

from pelican_resourcesync.protocol.limits import MOST_BYTES, MOST_ENTRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is read and kept; sizes are in bytes, as they are after any decoding.

    `entries` and `document_size` are the standard's own (X04). Past these a document is faulty and still read, up to
    `most_entries`, `most_bytes` and `most_elements` of any namespace. The rest keeps hostile input from taking memory
    or time: `token` bounds one tag or comment; `elements`, those of our two namespaces in one entry or beside the
    entries; `attributes` and `text`, how many attributes an `rs:md` or `rs:ln` has, and how many characters they or
    one text have together.

    Of a package, `directory` bounds the list of its members and `members` their number; `member_size`, one member;
    `ratio`, how much larger a member, and all that is read of a package, is than its bytes; `unpacked`, all of it.
    """

    entries: int = 50_000
    document_size: int = 52_428_800
    most_entries: int = MOST_ENTRIES
    most_bytes: int = MOST_BYTES
    most_elements: int = 2_000_000
    token: int = 131_072
    depth: int = 64
    text: int = 16_384
    elements: int = 200
    attributes: int = 100
    places: int = 20
    search: int = 10_000
    directory: int = 16_000_000
    members: int = 100_000
    member_size: int = 2_000_000_000
    package_size: int = 4_000_000_000
    unpacked: int = 16_000_000_000
    ratio: int = 200
    page: int = 1_048_576
    resource_size: int = 2_000_000_000


STANDARD_LIMITS = Limits()
