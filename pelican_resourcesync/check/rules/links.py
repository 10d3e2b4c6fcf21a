"""LN: links from an entry to related resources."""

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import disagreement, same_type

BOOK = Book()

_PATCH = "http://www.openarchives.org/rs/terms/patch"
_OF_CHANGES = frozenset(("changelist", "changedump", "changedump-manifest", "change-notification"))


def _differs(link: Attributes, item: Item) -> str | None:
    """Return a message if a link and its entry contradict each other, although both are about the same bytes."""
    md = item.md or {}
    if algorithm := disagreement(md.get("hash"), link.get("hash")):
        return f"its {algorithm} is not that of the entry"
    if md.get("length", link.get("length")) != link.get("length", md.get("length")):
        return "its length is not that of the entry"
    return None


@BOOK("link", "LN01", SHOULD, "A mirror has what the entry says of the resource", "core §14.2")
def duplicate(link: Attributes, item: Item, _: Doc) -> str | None:
    """Check a mirror against its entry."""
    problem = _differs(link, item) if link.get("rel") == "duplicate" else None
    return f"a link with rel=duplicate: {problem}" if problem else None


@BOOK("link", "LN02", SHOULD, "A link to an alternate has its type", "core §14.3")
def alternate(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check a link to an alternate."""
    return "a link with rel=alternate has no type" if link.get("rel") == "alternate" and "type" not in link else None


@BOOK("link", "LN03", MUST, "A patch has its type and, in a dump, its path; it is of changes alone", "core §14.4")
def patch(link: Attributes, _: Item, doc: Doc) -> str | None:
    """Check a patch, and that the document may have patches."""
    if link.get("rel") != _PATCH:
        return None
    if "type" not in link:
        return "a patch has no type"
    if doc.head.capability not in _OF_CHANGES:
        return f"a {doc.head.capability or 'document without capability'} has no patches"
    return (
        "a patch in a dump has no path" if doc.head.capability == "changedump-manifest" and "path" not in link else None
    )


@BOOK("link", "LN04", SHOULD, "Metadata and what it describes are two resources", "core §14.5")
def metadata(link: Attributes, item: Item, _: Doc) -> str | None:
    """Check links between a resource and its metadata."""
    rel = link.get("rel")
    if rel in ("describedby", "describes") and link.get("href") == item.loc:
        return f"a link with rel={rel} leads to the entry's own loc"
    return None


@BOOK("link", "LN05", MUST, "A memento is what the entry says of the resource", "core §14.6")
def memento(link: Attributes, item: Item, _: Doc) -> str | None:
    """Check a memento against its entry."""
    if link.get("rel") != "memento":
        return None
    if problem := _differs(link, item):
        return f"a link with rel=memento: {problem}"
    types = (item.md or {}).get("type"), link.get("type")
    return "a link with rel=memento: its type is not that of the entry" if _other_type(*types) else None


@BOOK("link", "LN05", MUST, "An entry with a memento has a lastmod", "core §14.6, of 2014", editions=(2014,))
def memento_of_when(link: Attributes, item: Item, _: Doc) -> str | None:
    """Check that the time of a memento is stated."""
    return "the entry has no lastmod" if link.get("rel") == "memento" and item.lastmod is None else None


@BOOK("link", "LN05", SHOULD, "A TimeMap is of type application/link-format", "core §14.6")
def timemap(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the type of a TimeMap."""
    wrong = link.get("rel") == "timemap" and not same_type(link.get("type", ""), "application/link-format")
    return "a link with rel=timemap is not of type application/link-format" if wrong else None


@BOOK("link", "LN07", SHOULD, "Only the original Source is named with rel=via", "core §14.8")
def via(link: Attributes, item: Item, _: Doc) -> str | None:
    """Check that an entry has one rel=via link: aggregators keep the first link, and add no other."""
    vias = [each for each in item.links if each.get("rel") == "via"]
    return "the entry has a second link with rel=via" if link in vias[1:] else None


def _other_type(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and not same_type(one, other)
