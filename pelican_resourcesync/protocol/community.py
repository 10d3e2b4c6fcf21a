"""Community attributes, which have a namespace of their own (X03)."""

import re
from functools import lru_cache

from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import escape
from pelican_resourcesync.protocol.model import Attributes
from pelican_resourcesync.protocol.uris import require_absolute
from pelican_resourcesync.protocol.vocabulary import RS_NS

_XML_NS = "http://www.w3.org/XML/1998/namespace"
_XMLNS_NS = "http://www.w3.org/2000/xmlns/"
# NCName of "Namespaces in XML", with the name characters of XML 1.0, fifth edition.
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_CLARK = re.compile(rf"\{{(.+)\}}([{_START}][{_START}\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*)")


def render_community(attributes: Attributes) -> str:
    """Write the attributes, each with a leading space, after the declarations of their prefixes.

    Prefixes are ns1, ns2, … in the order of the namespaces, so the same attributes always produce the same text. Raises
    `DocumentError` for a name that is not in a foreign namespace, or that occurs twice.
    """
    names = [_split(name) for name, _ in attributes]
    if len(set(names)) < len(names):
        message = f"a community attribute occurs twice in {[name for name, _ in attributes]!a}; keep one of them"
        raise DocumentError(message)
    spaces = sorted({namespace for namespace, _ in names} - {_XML_NS})
    prefixes = {namespace: f"ns{number}" for number, namespace in enumerate(spaces, 1)}
    declarations = [f' xmlns:{prefixes[namespace]}="{escape.attribute(namespace)}"' for namespace in spaces]
    prefixes[_XML_NS] = "xml"
    pairs = sorted(zip(names, (value for _, value in attributes), strict=True))
    rendered = [f' {prefixes[namespace]}:{name}="{_value(name, value)}"' for (namespace, name), value in pairs]
    return "".join(declarations + rendered)


def _value(name: str, value: str) -> str:
    try:
        return escape.attribute(value)
    except DocumentError as error:
        message = f"{name!a}: {error}"
        raise DocumentError(message) from None


def _split(clark: str) -> tuple[str, str]:
    parts = _CLARK.fullmatch(clark)
    if parts is None or parts[1] in {RS_NS, _XMLNS_NS}:
        message = (
            f"{clark[:80]!a}: a community attribute is named {{namespace}}name, in a namespace other than"
            " that of ResourceSync (X03)"
        )
        raise DocumentError(message)
    return parts[1] if parts[1] == _XML_NS else _namespace(parts[1]), parts[2]


@lru_cache(maxsize=256)
def _namespace(uri: str) -> str:
    """Return a namespace if an XML parser accepts it; parsers are stricter about namespaces than about other URIs."""
    try:
        etree.fromstring(f'<a xmlns:b="{escape.attribute(require_absolute(uri))}"/>')
    except etree.XMLSyntaxError as error:
        message = f"the namespace {uri[:80]!a} of a community attribute is refused by XML parsers: {error.msg} (X03)"
        raise DocumentError(message) from None
    return uri
