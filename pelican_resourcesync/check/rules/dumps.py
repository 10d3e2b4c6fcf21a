"""RD, CD: dumps, their indexes and manifests, each on its own."""

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.changes import sticks_out
from pelican_resourcesync.check.rules.xml import Places
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import cut, moment

BOOK = Book()

_RD, _RM, _CD, _CM = ("resourcedump",), ("resourcedump-manifest",), ("changedump",), ("changedump-manifest",)


def _lacks(doc: Doc, name: str) -> Places:
    if name not in doc.head.md:
        yield f"the document's rs:md has no {name}", doc.head.md_line


def _plain_package(item: Item) -> str | None:
    missing = [name for name in ("type", "length") if name not in (item.md or {})]
    return f"the package has no {' and no '.join(missing)}" if missing else None


@BOOK("head", "RD01", MUST, "A Resource Dump has at", "core §11.1", on=_RD, index=False)
def at(doc: Doc) -> Places:
    """Check that the time of the snapshot is stated."""
    return _lacks(doc, "at")


@BOOK("entry", "RD01", SHOULD, "A package has type and length", "core §11.1", on=_RD, index=False)
def package(item: Item, _: Doc) -> str | None:
    """Check that the type and length of a package are stated."""
    return _plain_package(item)


@BOOK("entry", "RD03", SHOULD, "All packages are of one format", "core §11.1", on=_RD + _CD, index=False)
def one_format(item: Item, doc: Doc) -> str | None:
    """Check that a package has the same media type as those before it."""
    type_ = (item.md or {}).get("type")
    if type_ is None:
        return None
    if not doc.types:
        doc.types.add(type_)
    return None if type_ in doc.types else f"the package is of type {cut(type_)}, and those before it are not"


@BOOK("head", "RD05", MUST, "A Resource Dump Manifest has at", "core §11.2", on=_RM)
def at_of_manifest(doc: Doc) -> Places:
    """Check that the time of the snapshot is stated."""
    return _lacks(doc, "at")


@BOOK("entry", "RD05", MUST, "Each bitstream of a Resource Dump Manifest has a path", "core §11.2", on=_RM)
def path(item: Item, _: Doc) -> str | None:
    """Check that an entry has a path."""
    return None if item.md and "path" in item.md else "the entry has no path"


@BOOK("entry", "RD06", MUST, "A path begins with a slash", "core §11.2", on=_RM)
def slash(item: Item, _: Doc) -> str | None:
    """Check the first character of a path."""
    return _without_slash(item.md)


@BOOK("head", "RD07", MUST, "A Resource Dump Index has at", "core §11.1, App. A", on=_RD, index=True)
def at_of_index(doc: Doc) -> Places:
    """Check that the time of the snapshot is stated."""
    return _lacks(doc, "at")


@BOOK("head", "CD01", MUST, "A Change Dump has from", "core §13.1", on=_CD, index=False)
def from_(doc: Doc) -> Places:
    """Check that the interval has a start."""
    return _lacks(doc, "from")


@BOOK("entry", "CD01", SHOULD, "The interval of a dump covers those of its packages", "core §13.1", on=_CD, index=False)
def covered(item: Item, doc: Doc) -> str | None:
    """Check the interval of a package against that of the dump."""
    return sticks_out(item, doc)


@BOOK("entry", "CD05", SHOULD, "The interval of an index covers those of its dumps", "core §13.1", on=_CD, index=True)
def covered_by_index(item: Item, doc: Doc) -> str | None:
    """Check the interval of a dump against that of the index."""
    return sticks_out(item, doc)


@BOOK("entry", "CD01", MUST, "Packages are in forward chronological order", "core §13.1", on=_CD, index=False)
def order(item: Item, doc: Doc) -> str | None:
    """Check the order of packages by their start, if they have one."""
    begin, end = (moment((item.md or {}).get(name)) for name in ("from", "until"))
    before, doc.previous = doc.previous[0], (begin or doc.previous[0], end)
    return "the package is of an earlier time than one before it" if begin and before and begin < before else None


@BOOK("entry", "CD01", SHOULD, "A package has type and length", "core §13.1", on=_CD, index=False)
def package_of_changes(item: Item, _: Doc) -> str | None:
    """Check that the type and length of a package are stated."""
    return _plain_package(item)


@BOOK("head", "CD02", MUST, "A Change Dump Manifest has from", "core §13.2", on=_CM)
def from_of_manifest(doc: Doc) -> Places:
    """Check that the interval has a start."""
    return _lacks(doc, "from")


@BOOK("entry", "CD03", MUST, "An entry has its change, and a path unless it is deleted", "core §13.2", on=_CM)
def change(item: Item, _: Doc) -> str | None:
    """Check the kind of change, and that there is a bitstream unless the resource was deleted."""
    md = item.md or {}
    kind = md.get("change", "").strip()
    if kind not in ("created", "updated", "deleted"):
        return f"change is {cut(kind)}, not created, updated or deleted"
    return "the entry has no path" if kind != "deleted" and "path" not in md else _without_slash(md)


@BOOK("entry", "CD03", SHOULD, "A bitstream has its media type", "core §13.2", on=_CM)
def type_(item: Item, _: Doc) -> str | None:
    """Check that a bitstream has a media type."""
    md = item.md or {}
    return "the entry has no type" if "path" in md and "type" not in md else None


@BOOK("entry", "CD04", MUST, "A resource that changed n times has n bitstreams", "core §13.1", on=_CM)
def own_bitstream(item: Item, doc: Doc) -> str | None:
    """Check that a bitstream belongs to this change only."""
    path = (item.md or {}).get("path")
    if path is None:
        return None
    known = path in doc.paths
    doc.paths.add(path)
    return f"the path {cut(path)} is that of another change" if known else None


@BOOK("head", "CD05", MUST, "A Change Dump Index has from", "core §13.1, App. A", on=_CD, index=True)
def from_of_index(doc: Doc) -> Places:
    """Check that the interval has a start."""
    return _lacks(doc, "from")


def _without_slash(md: Attributes | None) -> str | None:
    path = (md or {}).get("path")
    return f"the path {cut(path)} does not begin with a slash" if path is not None and path[:1] != "/" else None
