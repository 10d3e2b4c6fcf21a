"""SD, CL, CN04: Source Descriptions and Capability Lists, each on its own."""

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.xml import Places
from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.check.values import cut
from pelican_resourcesync.protocol import XML_SPACE, Capability

BOOK = Book()

_DESCRIPTION, _LIST = ("description",), ("capabilitylist",)
_NEVER_LISTED = frozenset(("description", "capabilitylist", "resourcedump-manifest", "changedump-manifest"))
_LISTED = frozenset(Capability) - _NEVER_LISTED


def _capability(item: Item) -> str:
    return item.md.get("capability", "").strip(XML_SPACE) if item.md else ""


@BOOK(
    "entry",
    "SD03",
    MUST,
    "An entry of a Source Description has rs:md with capability=capabilitylist",
    "core §8",
    on=_DESCRIPTION,
    index=False,
)
def lists_capability_lists(item: Item, _: Doc) -> str | None:
    """Check the capability of a Source Description's entry."""
    capability = _capability(item)
    return None if capability == "capabilitylist" else f"the entry's capability is {cut(capability)}"


@BOOK("head", "SD04", SHOULD, "A Source Description links to a page about the Source", "core §8", on=_DESCRIPTION)
def describes_itself(doc: Doc) -> Places:
    """Check that there is a description of the Source."""
    if not _described(doc) and not doc.head.is_index:
        yield "the document has no link with rel=describedby", doc.head.md_line


@BOOK(
    "entry",
    "SD04",
    SHOULD,
    "An entry of a Source Description links to a page about the set",
    "core §8",
    on=_DESCRIPTION,
    index=False,
)
def describes_sets(item: Item, _: Doc) -> str | None:
    """Check that there is a description of the set."""
    return None if any(link.get("rel") == "describedby" for link in item.links) else "no link with rel=describedby"


@BOOK("head", "CL02", MUST, "A Capability List links up to the Source Description", "core §9", on=_LIST)
def up(doc: Doc) -> Places:
    """Check that there is one link with rel=up."""
    count = sum(link.get("rel") == "up" for link, _ in doc.head.links)
    if count != 1:
        yield f"the document has {count or 'no'} link{'s' if count > 1 else ''} with rel=up", doc.head.md_line


@BOOK("head", "CL03", SHOULD, "A Capability List links to a page about the set", "core §9", on=_LIST)
def described(doc: Doc) -> Places:
    """Check that there is a description of the set."""
    if not _described(doc):
        yield "the document has no link with rel=describedby", doc.head.md_line


@BOOK("entry", "CL04", MUST, "An entry of a Capability List has a capability, and no two the same", "core §9", on=_LIST)
def one_each(item: Item, doc: Doc) -> str | None:
    """Check that an entry has a capability that no other entry has."""
    capability = _capability(item)
    if not capability:
        return "the entry has no capability"
    first = doc.capabilities.setdefault(capability, item.line)
    return f"the capability {cut(capability)} is already listed in line {first}" if first != item.line else None


@BOOK("entry", "CL05", MUST, "A Capability List lists lists, dumps and archives", "core §9, arch §2.1", on=_LIST)
def listable(item: Item, _: Doc) -> str | None:
    """Check that a Capability List may list the capability."""
    capability = _capability(item)
    wrong = capability in _NEVER_LISTED or _without_index(capability) in _LISTED - {capability}
    return f"a Capability List does not list a {cut(capability)}" if wrong else None


@BOOK("entry", "CL05", SHOULD, "The capability is one that a specification defines", "core §9", on=_LIST)
def defined(item: Item, _: Doc) -> str | None:
    """Check that the capability is a known one; an unknown one may be a community's own."""
    capability = _capability(item)
    wrong = capability and capability not in frozenset(Capability) and not listable(item, _)
    return f"the capability {cut(capability)} is not defined" if wrong else None


@BOOK("head", "CL08", MUST, "There is no Capability List Index", "core §9", on=_LIST, index=True)
def no_index(doc: Doc) -> Places:
    """Check the root: CL01 requires a urlset."""
    yield "a Capability List is a urlset", doc.head.line


@BOOK("entry", "CN04", MUST, "A Capability List names the hub of its change notifications", "CN §3", on=_LIST)
def hub(item: Item, _: Doc) -> str | None:
    """Check the entry of a notification topic."""
    if _capability(item) != "change-notification" or any(link.get("rel") == "hub" for link in item.links):
        return None
    return "the entry has no link with rel=hub"


def _without_index(capability: str) -> str:
    return capability.removesuffix("index").rstrip("-_")


def _described(doc: Doc) -> bool:
    return any(link.get("rel") == "describedby" for link, _ in doc.head.links)
