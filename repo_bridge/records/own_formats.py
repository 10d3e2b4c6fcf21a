"""DSpace's own formats, DIM and XOAI, and formats that a stylesheet or a function makes of an item."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from pathlib import Path
from runpy import run_path
from typing import Any
from urllib.parse import urlsplit

from lxml import etree

from pelican_resourcesync.protocol import escape_any_text
from repo_bridge import CrosswalkError
from repo_bridge.model import Bitstream, Field, Item, MetadataValue

#: Public files with their URIs.
PlacedFiles = Sequence[tuple[str, Bitstream]]

#: The bundle with the files that people deposit.
ORIGINAL = "ORIGINAL"

_DIM = "http://www.dspace.org/xmlns/dspace/dim"
_XOAI = "http://www.lyncode.com/xoai"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_RIGHTS, _LICENSE = Field("dc", "rights"), Field("dc", "rights", "uri")


@dataclass(frozen=True, slots=True)
class Dim:
    """DSpace's own format: one element for each value of each public field, in the order of the item's metadata."""

    prefix: str = "dim"
    profile: str = _DIM

    def render(self, item: Item, files: PlacedFiles = (), ui: str = "") -> bytes:  # noqa: ARG002 - for others
        """Return the record of an item (UTF-8). Characters that XML cannot hold become spaces."""
        fields = (
            f"  <dim:field{_attributes(value)}>{escape_any_text(value.value)}</dim:field>\n"
            for value in item.metadata
            if value.value.strip()
        )
        head = f'<dim:dim xmlns:dim="{_DIM}" dspaceType="ITEM">\n'
        return f"{_DECLARATION}{head}{''.join(fields)}</dim:dim>\n".encode()


def _attributes(value: MetadataValue) -> str:
    schema, element, qualifier = value.field
    named = {"mdschema": schema, "element": element, "qualifier": qualifier, "lang": value.language}
    named["authority"] = value.authority
    return "".join(f' {name}="{escape_any_text(text)}"' for name, text in named.items() if text)


@dataclass(frozen=True, slots=True)
class Xoai:
    """What the crosswalks of DSpace's OAI read: an item's fields, files and access as nested elements.

    Unlike DSpace's, it has nothing that is not public, and neither the time of the last change nor what only DSpace's
    configuration says.
    """

    prefix: str = "xoai"
    profile: str = _XOAI

    def render(self, item: Item, files: PlacedFiles = (), ui: str = "") -> bytes:
        """Return the record of an item with these files, in a repository at the URL `ui` (UTF-8)."""
        head, elements = f'<metadata xmlns="{_XOAI}">', [*_fields(item.metadata)]
        bundles = groupby(files, lambda placed: placed[1].bundle)
        found = [
            _element("bundle", {"name": name}, _element("bitstreams", {}, *map(_bitstream, of))) for name, of in bundles
        ]
        status = {"value": item.access, "embargo": item.embargo if item.access == "embargo" else ""}
        host = urlsplit(ui).hostname or ""
        others = {"handle": item.handle, "identifier": f"oai:{host}:{item.handle}" if host and item.handle else ""}
        elements += (
            _element("bundles", {}, *found),
            _element("others", others, _element("access-status", status), *_creative_commons(item.metadata)),
            _element("repository", {"url": ui}),
        )
        return f"{_DECLARATION}{head}{''.join(elements)}</metadata>\n".encode()


def _fields(values: Iterable[MetadataValue]) -> Iterator[str]:
    """Yield an element for each schema, with elements for each element, qualifier and language in it."""
    schemas: dict[str, Any] = {}
    for (schema, element, qualifier), text, language, authority in values:
        within = schemas
        for name in filter(None, (schema, element, qualifier, language or "none")):
            within = within.setdefault(name, {})
        if text.strip():  # an empty name is that of no element
            within.setdefault("", []).append(_field("value", text) + _field("authority", authority))

    def write(name: str, within: dict[str, Any]) -> str:
        fields = "".join(within.get("", ()))
        return _element(name, {}, fields, *(write(part, inner) for part, inner in within.items() if part))

    return (write(name, within) for name, within in schemas.items())


def _bitstream(placed: tuple[str, Bitstream]) -> str:
    """Return the element of a public file."""
    uri, file = placed
    fields = {"name": file.name, "format": file.type, "size": file.length, "url": uri, "checksum": file.md5}
    fields |= {"checksumAlgorithm": file.md5 and "MD5", "sid": file.sequence_id}
    policy = _element("resourcePolicy", {"group": "Anonymous", "action": "READ"})
    return _element("bitstream", fields, _element("resourcePolicies", {}, policy))


def _creative_commons(values: Iterable[MetadataValue]) -> Iterator[str]:
    """Yield the element of a license by Creative Commons, if an item has one."""
    named = {value.field: value.value for value in reversed([*values])}
    if "creativecommons.org/" in named.get(_LICENSE, ""):
        yield _element("cc", {"uri": named[_LICENSE], "name": named.get(_RIGHTS)})


def _element(name: str, fields: dict[str, Any], *within: str) -> str:
    own = "".join(_field(field, str(text)) for field, text in fields.items() if text is not None)
    return f'<element name="{escape_any_text(name)}">{own}{"".join(within)}</element>'


def _field(name: str, text: str) -> str:
    return f'<field name="{name}">{escape_any_text(text)}</field>' if text else ""


@dataclass(frozen=True)
class Made:
    """A format that a function makes of an item, its public files and the URL of the repository.

    `file` is where the function comes from. The namespace of a record identifies the format if `profile` is empty.
    """

    prefix: str
    file: Path
    make: Callable[[Item, PlacedFiles, str], bytes] = field(repr=False)
    profile: str = ""

    def __post_init__(self) -> None:
        """Find the namespace of an empty record."""
        root = etree.fromstring(self.render(Item(id="")), etree.XMLParser(resolve_entities=False, no_network=True))
        object.__setattr__(self, "profile", self.profile or etree.QName(root).namespace or self.file.as_uri())

    def render(self, item: Item, files: PlacedFiles = (), ui: str = "") -> bytes:
        """Return the record of an item (UTF-8). Raises `CrosswalkError` if none can be made, or it is not XML."""
        try:
            record = self.make(item, files, ui)
            etree.fromstring(record, etree.XMLParser(resolve_entities=False, no_network=True))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}{_hint(self.file)}"
            message = f"{self.file} made no record of the format {self.prefix}: {problem}"
            raise CrosswalkError(message) from error
        return record


def _hint(file: Path) -> str:
    return "" if file.suffix == ".py" or not file.is_file() else " (stylesheets are XSLT 1.0)"


def own_format(prefix: str, file: Path) -> Made:
    """Return the format that a user's file makes: a stylesheet (XSLT 1.0) for records in XOAI or DIM, or a module.

    A module (Python) has a function `record`, which takes the values of an item's metadata, and returns XML as text or
    bytes. Raises `CrosswalkError` if the file cannot be used.
    """
    try:
        if file.suffix == ".py":
            return Made(prefix, file, _function_of(file))
        made = Made(prefix, file, stylesheet(file))
        _require_difference(made)
    except (OSError, SyntaxError, ImportError, AttributeError, etree.LxmlError) as error:
        message = f"the crosswalk {file} cannot be used: {type(error).__name__}: {error}{_hint(file)}"
        raise CrosswalkError(message) from error
    return made


def stylesheet(file: Path) -> Callable[[Item, PlacedFiles, str], bytes]:
    """Return what applies a stylesheet; it may read files beside it, and neither write nor use the network.

    It takes XOAI if it, or what it includes, names the namespace of that, as the crosswalks of DSpace's OAI do, and
    else DIM.
    """
    control: Any = etree.XSLTAccessControl
    access = control(write_file=False, create_dir=False, read_network=False, write_network=False)
    taken = Xoai() if any(_XOAI in {*root.nsmap.values()} for root in _parts(file)) else Dim()
    transform = etree.XSLT(etree.parse(file), access_control=access)

    def make(item: Item, files: PlacedFiles, ui: str) -> bytes:
        made = transform(etree.fromstring(taken.render(item, files, ui)))
        return etree.tostring(made, encoding="UTF-8", xml_declaration=True, pretty_print=True)

    return make


_XSLT = "{http://www.w3.org/1999/XSL/Transform}"


def _parts(file: Path) -> Iterator[etree._Element]:
    """Yield the roots of a stylesheet and of all that it imports or includes."""
    root = etree.parse(file).getroot()
    yield root
    for part in root.iterchildren(f"{_XSLT}import", f"{_XSLT}include"):
        yield from _parts(file.parent / (part.get("href") or ""))


#: Fields that a sample has at least.
_USUAL = "title contributor.author date.issued identifier.uri subject type description.abstract rights.uri relation"
_NAME = re.compile(r"""['"]([\w.-]+)['"]""")
_MOST_NAMES = 12


def _require_difference(made: Made) -> None:
    """Raise `CrosswalkError` if a stylesheet makes the same of two items, which differ in everything that it names."""
    found = {name for root in _parts(made.file) for element in root.iter() for name in _named(element)}
    names = sorted(found)[:_MOST_NAMES]
    fields = [Field("dc", *name.split(".")) for name in _USUAL.split()]
    fields += [Field(*parts) for parts in product(names, names, ["", *names])]
    file = Bitstream(id="f", name="f", bundle=ORIGINAL, sequence_id=1, length=1, type="a/b")

    def sample(text: str) -> bytes:
        values = tuple(MetadataValue(field, text, "", "virtual::1") for field in dict.fromkeys(fields))
        item = Item(id=text, handle=f"1/{text}", metadata=values, bitstreams=(file,))
        return made.render(
            item, [(f"https://repository.example/{text}", replace(file, name=text))], "https://x.example"
        )

    if sample("1871") == sample("1872"):
        message = (
            f"the crosswalk {made.file} makes the same record of two different items: match the elements of DIM"
            f" ({_DIM}) or XOAI ({_XOAI}), as the formats dim and xoai show them"
        )
        raise CrosswalkError(message)


def _named(element: etree._Element) -> Iterator[str]:
    """Yield the texts that the expressions of a stylesheet's element compare names with."""
    for name in ("match", "select", "test", "use"):
        yield from _NAME.findall(element.get(name) or "")


def _function_of(file: Path) -> Callable[[Item, PlacedFiles, str], bytes]:
    record = run_path(str(file)).get("record")
    if record is None:
        message = "it has no function record"
        raise AttributeError(message)

    def make(item: Item, files: PlacedFiles, ui: str) -> bytes:
        del files, ui
        made = record(item.metadata)
        return made.encode() if isinstance(made, str) else bytes(made)

    return make
