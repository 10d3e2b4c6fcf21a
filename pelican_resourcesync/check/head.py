"""What a document says of itself, as it stands."""

from dataclasses import dataclass, field

from pelican_resourcesync.check.item import Attributes
from pelican_resourcesync.protocol.attributes import XML_SPACE


@dataclass(slots=True)
class Head:
    """What a document says of itself: its root, and each `rs:md` and `rs:ln` of it with its line.

    `late` is the line of the first that comes after an entry. `encoding` is what the XML declaration says; `declared`,
    whether there is one.
    """

    namespace: str = ""
    root: str = ""
    line: int = 1
    declared: bool = False
    encoding: str = ""
    mds: list[tuple[Attributes, int]] = field(default_factory=list)
    links: list[tuple[Attributes, int]] = field(default_factory=list)
    strange: list[tuple[str, int]] = field(default_factory=list)
    late: int = 0
    entries: int = 0
    size: int = 0

    @property
    def md(self) -> Attributes:
        """The first `rs:md`, or an empty one."""
        return self.mds[0][0] if self.mds else {}

    @property
    def md_line(self) -> int:
        """Where the first `rs:md` stands, or the root."""
        return self.mds[0][1] if self.mds else self.line

    @property
    def capability(self) -> str:
        """The capability, or nothing."""
        return self.md.get("capability", "").strip(XML_SPACE)

    @property
    def is_index(self) -> bool:
        """Whether the document groups others."""
        return self.root == "sitemapindex"
