"""All limits of the checker. Anything larger is not read, and a finding or an error says so."""

from dataclasses import dataclass

from pelican_resourcesync.protocol import MOST_BYTES, MOST_ENTRIES
from pelican_resourcesync.transport import ZipLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLimits(ZipLimits):
    """How much is read and kept; sizes are in bytes, after any decoding.

    `entries` and `document_size` are the limits of the standard (X04). A larger document is faulty but still read, up
    to `most_entries`, `most_bytes` and `most_elements` (of any namespace). The other limits keep hostile input from
    exhausting memory or time. `token` limits one tag or comment. `elements` limits the elements of our two namespaces
    in one entry, and outside the entries. `attributes` limits how many attributes an `rs:md` or `rs:ln` has, and `text`
    how many characters these attributes, or one text, have in total.

    `package_size` limits a package; the other limits for it are those of `ZipLimits`.
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
    findings: int = 20
    search: int = 10_000
    package_size: int = 4_000_000_000
    resource_size: int = 2_000_000_000


STANDARD_LIMITS = CheckLimits()
