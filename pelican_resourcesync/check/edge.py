"""What leads from one document to another."""

from dataclasses import dataclass

from pelican_resourcesync.check.document import Kept
from pelican_resourcesync.check.scan import Item


@dataclass(slots=True, kw_only=True)
class Edge:
    """A document names another: `kind` is entry, contents or the relation of a link; `child` is None if it is not had.

    `absence` says why it is not had; `owner` is the Capability List, or the Source Description, whose entries led to
    `parent`.
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
    """A document to visit. `top` is the list, dump or index of which it is a part, or a manifest; nothing: itself."""

    uri: str
    edge: Edge | None = None
    owner: str = ""
    archived: bool = False
    hops: int = 0
    top: str = ""
