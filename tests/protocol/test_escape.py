"""Escaping, with lxml as the independent witness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import values
from tests.protocol import strategies


@given(strategies.text)
def test_text_survives(value: str) -> None:
    """A parser gives back the text of an element as it went in."""
    element = etree.fromstring(f"<a>{values.escape_text(value)}</a>".encode())
    assert (element.text or "") == value


@given(strategies.text)
def test_attribute_survives(value: str) -> None:
    """A parser gives back an attribute as it went in, white space included."""
    assert etree.fromstring(f'<a b="{values.escape_attribute(value)}"/>'.encode()).get("b") == value


@given(st.characters())
def test_every_character_is_held_or_refused(character: str) -> None:
    """A character is refused exactly where the parser refuses its reference."""
    try:
        etree.fromstring(f"<a>&#{ord(character)};</a>")
        legal = True
    except etree.XMLSyntaxError:
        legal = False
    if legal:
        assert etree.fromstring(f"<a>{values.escape_text(character)}</a>".encode()).text == character
    else:
        with pytest.raises(DocumentError, match=f"U\\+{ord(character):04X}"):
            values.escape_text(character)


@pytest.mark.parametrize("code", [0x0, 0x8, 0xB, 0xC, 0xE, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_what_xml_cannot_hold_is_named(code: int) -> None:
    """The message names the character, in text and in attributes."""
    for function in (values.escape_text, values.escape_attribute):
        with pytest.raises(DocumentError, match=f"XML 1.0 cannot hold the character U\\+{code:04X}; remove it"):
            function(f"a{chr(code)}b")


def test_by_hand() -> None:
    """The five characters of Sitemaps, and white space, become the references that a person would write."""
    assert values.escape_text("&<>\"'\r\n\t") == "&amp;&lt;&gt;&quot;&apos;&#13;\n\t"
    assert values.escape_attribute("&<>\"'\r\n\t") == "&amp;&lt;&gt;&quot;&apos;&#13;&#10;&#9;"
