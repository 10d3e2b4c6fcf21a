"""Times and text: values by hand, with lxml as the independent witness."""

import datetime as dt
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import parse_datetime, render_datetime, values
from tests.kit import strategies

TOKYO = dt.timezone(dt.timedelta(hours=9))


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (dt.datetime(2013, 1, 3, 9, tzinfo=dt.UTC), "2013-01-03T09:00:00Z"),
        (dt.datetime(2013, 1, 3, 9, tzinfo=TOKYO), "2013-01-03T00:00:00Z"),
        (dt.datetime(2013, 1, 3, 9, 0, 0, 500_000, tzinfo=dt.UTC), "2013-01-03T09:00:00.500Z"),
        (dt.datetime(2013, 1, 3, 9, 0, 0, 1, tzinfo=dt.UTC), "2013-01-03T09:00:00.000001Z"),
        (dt.datetime(33, 1, 3, tzinfo=dt.UTC), "0033-01-03T00:00:00Z"),
    ],
)
def test_rendering(moment: dt.datetime, text: str) -> None:
    """Times are written in UTC, with four digits of year and no needless fraction."""
    assert render_datetime(moment) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2013", dt.datetime(2013, 1, 1, tzinfo=dt.UTC)),
        ("2013-02", dt.datetime(2013, 2, 1, tzinfo=dt.UTC)),
        ("2013-02-03", dt.datetime(2013, 2, 3, tzinfo=dt.UTC)),
        ("2013-02-03T04:05Z", dt.datetime(2013, 2, 3, 4, 5, tzinfo=dt.UTC)),
        ("2013-02-03T04:05:06+09:00", dt.datetime(2013, 2, 2, 19, 5, 6, tzinfo=dt.UTC)),
        ("2013-02-03T04:05:06-00:30", dt.datetime(2013, 2, 3, 4, 35, 6, tzinfo=dt.UTC)),
        ("2013-02-03T04:05:06.1Z", dt.datetime(2013, 2, 3, 4, 5, 6, 100_000, tzinfo=dt.UTC)),
        ("2013-02-03T04:05:06.12345678901234Z", dt.datetime(2013, 2, 3, 4, 5, 6, 123_456, tzinfo=dt.UTC)),
        ("2013-02-03T04:05:06.9999999Z", dt.datetime(2013, 2, 3, 4, 5, 6, 999_999, tzinfo=dt.UTC)),
    ],
)
def test_parsing(text: str, moment: dt.datetime) -> None:
    """Every form of W3C Datetime is read, in UTC."""
    parsed = parse_datetime(text)
    assert parsed == moment
    assert parsed.tzinfo is dt.UTC


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ("", "13", "20130203", "2013-2-3", "2013-W05", "2013-02-03T04Z", "2013-02-03 04:05Z", "2013-02-03T04:05z",
             "2013-02-03T24:00Z", "2013-02-03T04:05:06,5Z", "2013-02-03T04:05:06.Z", "2013-02-03T04:05:06+0900",
             "\u0662\u0660\u0661\u0663"),
            "is not a W3C Datetime; write it as",
        ),
        (
            ("2013-13", "2013-02-30", "0000", "2013-02-03T04:60Z", "2013-02-03T04:05+24:00"),
            "is not a valid date or time",
        ),
        (("2013-02-03T04:05", "2013-02-03T04:05:06", "2013-02-03T04:05:06.7"), "has no time zone"),
        (("0001-01-01T00:00:00+09:00",), "outside the years 1 to 9999"),
    ],
)  # fmt: skip
def test_no_times(texts: tuple[str, ...], message: str) -> None:
    """What only looks like a W3C Datetime, is outside the calendar or has no zone is refused, with what to write."""
    for text in texts:
        with pytest.raises(DocumentError, match=message):
            parse_datetime(text)


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        (dt.datetime(2013, 1, 3), "has no time zone; add one"),  # noqa: DTZ001 - the point
        (dt.datetime(1, 1, 1, tzinfo=TOKYO), "outside the years 1 to 9999"),
    ],
)
def test_datetime_that_is_refused(moment: dt.datetime, message: str) -> None:
    """A datetime without a zone, or before the year 1 in UTC, is refused on writing."""
    with pytest.raises(DocumentError, match=message):
        render_datetime(moment)


@given(strategies.times)
def test_parsing_undoes_rendering(moment: dt.datetime) -> None:
    """A time is parsed back from its text."""
    assert parse_datetime(render_datetime(moment)) == moment


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_a_document_error(text: str) -> None:
    """No text makes the parser fail in any other way."""
    with suppress(DocumentError):
        assert parse_datetime(text).tzinfo is dt.UTC


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
        with pytest.raises(DocumentError, match=f"XML 1.0 does not allow the character U\\+{code:04X}; remove it"):
            function(f"a{chr(code)}b")


def test_by_hand() -> None:
    """The five characters of Sitemaps, and white space, become the references that a person would write."""
    assert values.escape_text("&<>\"'\r\n\t") == "&amp;&lt;&gt;&quot;&apos;&#13;\n\t"
    assert values.escape_attribute("&<>\"'\r\n\t") == "&amp;&lt;&gt;&quot;&apos;&#13;&#10;&#9;"
    assert values.escape_any_text("a&\x00\ufffe\U0001f600") == "a&amp;  \U0001f600"
