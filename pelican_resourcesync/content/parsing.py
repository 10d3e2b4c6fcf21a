"""HTML from anywhere to a tree, within limits of time and memory, and the same with every version of the parser."""

import codecs
import re

from lxml import etree

#: Limits of a page, which the parser and the rules then read within 100 ms and 64 MiB.
_MOST_BYTES = 1_500_000
_MOST_TAGS = 25_000  # that begin an element, and as many that end one
#: The time of the parser grows with the square of the attributes of a tag.
_MOST_ATTRIBUTES = 100
_LONG = 2 * _MOST_ATTRIBUTES  # bytes of a tag, which are too few for more

#: A tag, whose quoted values may contain `>`. It never ends before the parser's does.
_TAG = re.compile(rb"""</?[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
_QUOTED = re.compile(rb"""=\s*+(?:"[^"]*+"|'[^']*+')""")
#: Characters that versions of the parser treat differently: the control characters but white space.
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\f\r"})

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_HEAD = 2048  # bytes that are searched for it
#: What the names of encodings of the web begin with, beside UTF-8; Python knows others, such as `punycode`.
_ENCODINGS = ("windows-125", "iso-8859-", "koi8-", "euc-", "shift_jis", "iso-2022-jp", "gb", "big5")
_WINDOWS = "cp1252"  # which browsers use for Latin-1, and where nothing is declared


def parse(body: bytes) -> etree._Element | None:
    """Return the tree of a page, without comments; `None` if it has no elements or exceeds a limit."""
    if len(body) > _MOST_BYTES:
        return None
    ends = body.count(b"</")
    if max(ends, body.count(b"<") - ends) > _MOST_TAGS:
        return None
    markup = _utf8(body).translate(None, _CONTROLS)
    if any(_attributes(tag) > _MOST_ATTRIBUTES for tag in _TAG.findall(markup) if len(tag) > _LONG):
        return None
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, collect_ids=False
    )
    try:
        root = etree.fromstring(markup, parser)
    except etree.XMLSyntaxError:  # there is nothing in it
        return None
    return None if parser.error_log.filter_from_fatals() else root  # such as elements that are nested too deeply


def _attributes(tag: bytes) -> int:
    """Return a number of attributes that a tag does not exceed."""
    return len(_QUOTED.sub(b" ", tag).replace(b"/", b" ").split())


def _utf8(body: bytes) -> bytes:
    """Return a page in UTF-8: as it is if it is that, and otherwise from the encoding that it declares."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace").encode()
    body = body.removeprefix(codecs.BOM_UTF8)
    match = _CHARSET.search(body, 0, _HEAD)
    declared = match[1].decode().lower() if match else ""
    known = (declared,) if declared.startswith(_ENCODINGS) and declared != "iso-8859-1" else ()
    # ISO-2022 switches between alphabets in ASCII, which is UTF-8 as well.
    for encoding in (*known, "utf-8", _WINDOWS) if b"\x1b" in body else ("utf-8", *known, _WINDOWS):
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(body)  # which may end within a character
        except (LookupError, UnicodeDecodeError):
            continue
        return str(text).encode()
    return body.decode("latin-1").encode()
