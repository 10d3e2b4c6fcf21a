"""Every limit of the checker, in one place: what is larger is not read, and a finding or an error says so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is read and kept; sizes are in bytes, as they are after any decoding.

    `entries` and `document_size` are the standard's own (X04). Past these a document is faulty and still read, up to
    `most_entries` and `most_bytes`. The rest keeps hostile input from taking memory or time.
    """

    entries: int = 50_000
    document_size: int = 52_428_800
    most_entries: int = 200_000
    most_bytes: int = 100_000_000
    token: int = 1_048_576
    depth: int = 64
    text: int = 16_384
    elements: int = 1_000
    places: int = 20
    search: int = 10_000
    directory: int = 12_000_000
    member_size: int = 2_000_000_000
    package_size: int = 4_000_000_000
    unpacked: int = 16_000_000_000
    ratio: int = 200
    page: int = 1_048_576
    resource_size: int = 2_000_000_000


STANDARD_LIMITS = Limits()
