"""JSON of others: a value, or one error."""

from typing import Any

import pytest

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import parse_datetime
from pelican_resourcesync.system.strict_json import parse_json

NOT_READ = {
    "no text": b"\xff\xfe\x00",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "nothing": b"",
    "cut off": b'{"a": ',
    "more than one value": b"{} {}",
    "a name twice": b'{"a": 1, "a": 2}',
    "a name twice, inside": b'[{"b": {"a": 1, "\\u0061": 1}}]',
    "not a number": b'{"a": NaN}',
    "infinite": b'{"a": -Infinity}',
    "too large a number": b'{"a": 1e999}',
    "a number of too many digits": b"9" * 5_000,
    "half a pair": rb'{"a": "\ud83d"}',
    "half a pair in a name": rb'{"\uDE00": 1}',
    "lists in lists": b"[" * 33 + b"]" * 33,
    "objects in objects": b'{"a":' * 33 + b"1" + b"}" * 33,
    "deep enough to end the interpreter": b"[" * 200_000,
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read(name: str) -> None:
    """Text that is damaged, ambiguous or without end, in bytes and as text, is one error."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(NOT_READ[name], lambda value: value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null, "é"]}', {"a": [1, 2.5, True, None, "é"]}),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\\ud83d"', r"\ud83d"),
        ("[" * 32 + "]" * 32, None),
        ("7", 7),
    ],
)
def test_what_is_read(text: str, value: Any) -> None:
    """A value is read as it is, whole pairs of surrogates and 32 lists inside each other, too."""
    assert value is None or parse_json(text, lambda read: read) == value
    assert parse_json(text.encode(), lambda _: "built") == "built"


@pytest.mark.parametrize(
    "build",
    [
        lambda value: value["b"],
        lambda value: value["a"]["b"],
        lambda value: value["a"].items(),
        lambda value: value["a"][9],
        lambda value: value["a"] + "text",
        lambda value: 1 / (len(value["a"]) - 1),
        lambda value: parse_datetime(value["c"]),
        lambda value: int(value["c"]),
    ],
)
def test_other_shape_than_expected(build: Any) -> None:
    """What a reader misses, or finds with another type, is the same error."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json('{"a": [1], "c": "no time"}', build)
    assert not isinstance(caught.value, DocumentError)


def test_text_that_utf_8_cannot_hold() -> None:
    """A text with half a pair, as the arguments of a command may have it, is the same error."""
    with pytest.raises(ValueError, match="surrogates"):
        parse_json('"\udcff"', str)
