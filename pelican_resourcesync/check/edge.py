"""References between documents, and the documents still to visit."""

from dataclasses import dataclass

from pelican_resourcesync.check.document import Kept
from pelican_resourcesync.check.scan import Item


@dataclass(slots=True, kw_only=True)
class Edge:
    """A reference from one document to another document or to a package.

    `kind` is "entry", "contents", "package" or the relation of a link. `child` is the document that was read, or None;
    `absence` then says why it could not be read. `length` is that of a package, in bytes.
    """

    kind: str
    parent: Kept
    uri: str
    line: int
    item: Item | None = None
    child: Kept | None = None
    absence: str = ""
    length: int | None = None


@dataclass(slots=True)
class Task:
    """A document or package to visit.

    `owner` is the Capability List, or the Source Description, whose entries led to it. `top` is the list, dump or index
    that the document or manifest is part of; if empty, the document itself.
    """

    uri: str
    edge: Edge | None = None
    owner: str = ""
    archived: bool = False
    hops: int = 0
    top: str = ""
