"""Records that keep every field (DIM), and formats that a stylesheet or a Python function makes of an item."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from lxml import etree

from pelican_resourcesync.protocol import escape_any_text
from repo_bridge import CrosswalkError
from repo_bridge.model import MetadataValue

_DIM = "http://www.dspace.org/xmlns/dspace/dim"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


@dataclass(frozen=True, slots=True)
class Dim:
    """DSpace's own format: one element for each value of each public field, in the order of the item's metadata."""

    prefix: str = "dim"
    profile: str = _DIM

    def render(self, values: Iterable[MetadataValue]) -> bytes:
        """Return the record of an item (UTF-8). Characters that XML cannot hold become spaces."""
        fields = (
            f"  <dim:field{_attributes(each)}>{escape_any_text(each.value)}</dim:field>\n"
            for each in values
            if each.value.strip()
        )
        head = f'<dim:dim xmlns:dim="{_DIM}" dspaceType="ITEM">\n'
        return f"{_DECLARATION}{head}{''.join(fields)}</dim:dim>\n".encode()


def _attributes(value: MetadataValue) -> str:
    schema, element, qualifier = value.field
    named = {"mdschema": schema, "element": element, "qualifier": qualifier, "lang": value.language}
    named["authority"] = value.authority
    return "".join(f' {name}="{escape_any_text(text)}"' for name, text in named.items() if text)


@dataclass(frozen=True)
class Made:
    """A format that a function makes of the metadata of an item; `file` is where it comes from."""

    prefix: str
    file: Path
    make: Callable[[tuple[MetadataValue, ...]], bytes] = field(repr=False)
    profile: str = field(init=False)

    def __post_init__(self) -> None:
        """Find the namespace of an empty record, which identifies the format."""
        root = etree.fromstring(self.render(()), etree.XMLParser(resolve_entities=False, no_network=True))
        object.__setattr__(self, "profile", etree.QName(root).namespace or self.file.as_uri())

    def render(self, values: Iterable[MetadataValue]) -> bytes:
        """Return the record of an item (UTF-8). Raises `CrosswalkError` if none can be made, or it is not XML."""
        try:
            record = self.make(tuple(values))
            etree.fromstring(record, etree.XMLParser(resolve_entities=False, no_network=True))
        except Exception as error:
            message = f"{self.file} made no record of the format {self.prefix}: {type(error).__name__}: {error}"
            raise CrosswalkError(message) from error
        return record


def own_format(prefix: str, file: Path) -> Made:
    """Return the format that a user's file makes: a stylesheet (XSLT 1.0) for records in DIM, or a Python module.

    A module has a function `record`, which takes the values of an item's metadata, and returns XML as text or bytes.
    Raises `CrosswalkError` if the file cannot be used.
    """
    try:
        return Made(prefix, file, _function_of(file) if file.suffix == ".py" else _stylesheet(file))
    except (OSError, SyntaxError, ImportError, AttributeError, etree.LxmlError) as error:
        message = f"the crosswalk {file} cannot be used: {type(error).__name__}: {error}"
        raise CrosswalkError(message) from error


def _stylesheet(file: Path) -> Callable[[tuple[MetadataValue, ...]], bytes]:
    """Return what applies a stylesheet; it may read files beside it, and neither write nor use the network."""
    control: Any = etree.XSLTAccessControl
    access = control(write_file=False, create_dir=False, read_network=False, write_network=False)
    transform, dim = etree.XSLT(etree.parse(file), access_control=access), Dim()

    def make(values: tuple[MetadataValue, ...]) -> bytes:
        made = transform(etree.fromstring(dim.render(values)))
        return etree.tostring(made, encoding="UTF-8", xml_declaration=True, pretty_print=True)

    return make


def _function_of(file: Path) -> Callable[[tuple[MetadataValue, ...]], bytes]:
    spec = spec_from_file_location(f"crosswalk_{file.stem}", file)
    if spec is None or spec.loader is None:
        message = "it is not a Python module"
        raise ImportError(message)
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    record = module.record

    def make(values: tuple[MetadataValue, ...]) -> bytes:
        made = record(values)
        return made.encode() if isinstance(made, str) else bytes(made)

    return make
