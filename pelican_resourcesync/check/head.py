"""What a document says about itself, as written."""

from dataclasses import dataclass, field

from pelican_resourcesync.check.item import Attributes
from pelican_resourcesync.protocol import XML_SPACE


@dataclass(slots=True)
class Head:
    """What a document says about itself: its root, and each of its own `rs:md` and `rs:ln` elements with its line.

    `late` is the line of the first of these elements that comes after an entry. `declared` says whether there is an XML
    declaration, and `encoding` is the encoding stated there.
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
        """The attributes of the first `rs:md`; empty if there is none."""
        return self.mds[0][0] if self.mds else {}

    @property
    def md_line(self) -> int:
        """The line of the first `rs:md`, or else of the root."""
        return self.mds[0][1] if self.mds else self.line

    @property
    def capability(self) -> str:
        """The capability, or an empty string."""
        return self.md.get("capability", "").strip(XML_SPACE)

    @property
    def is_index(self) -> bool:
        """Whether the document is an index of other documents."""
        return self.root == "sitemapindex"
