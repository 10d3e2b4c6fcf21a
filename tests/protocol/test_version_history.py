"""The version history of a set: what may be in it, and what is refused."""

import json

import pytest

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    Version,
    VersionHistory,
    parse_version_history,
    parse_versions,
    render_versions,
    version_lengths,
)
from tests.kit.publications import HOSTILE_NAMES

DIGEST = "0123456789abcdef" * 4
TIME = "2024-03-01T12:00:00Z"
HEAD = '["https://e.org/resourcesync/site/versions", "", "", "all", "2024-03-01T12:00:00Z"]\n'
URI = '"https://e.org/a"'
VERSION = f'["{TIME}", "{DIGEST}.html", 1, "text/html"]'
LINE = f"[{URI},\t[{VERSION}]]\n"


def line(versions: str, uri: str = URI) -> str:
    """Return the line of a resource after the first one."""
    return f"{HEAD}[{uri},\t{versions}]\n"


def named(name: object) -> str:
    """Return a history that names a file."""
    return line(json.dumps([[TIME, name, 1, "text/html"]]))


#: What no history is, with why; most of it is JSON.
DAMAGED = {
    "nothing": ("", "1: Expecting value"),
    "no head": (LINE, "1: it must be a list of five texts"),
    "a head of a number": (HEAD.replace('""', "1", 1), "1: it must be a list of five texts"),
    "a head that is cut off": (HEAD[:-9], "1: "),
    "a head without a time": (HEAD.replace("2024", "yesterday"), "1: "),
    "a head of none": (HEAD.replace("all", "none"), "1: 'none' is neither all nor some"),
    "an object": (f"{HEAD}{{}}\n", "2: it does not list"),
    "not JSON": (f"{HEAD}[\n", "2: it does not list"),
    "a URI alone": (f"{HEAD}[{URI}]\n", "2: it does not list"),
    "an empty line": (f"{HEAD}\n", "2: it does not list"),
    "cut off": (f"{HEAD}{LINE[:-1]}", "2: it does not list"),
    "cut off in a version": (f"{HEAD}{LINE[:-30]}", "2: it does not list"),
    "not ASCII": (line(f"[{VERSION}]", '"https://e.org/é"'), "1: 'ascii' codec"),
    "carriage returns": (f"{HEAD}{LINE}".replace("\n", "\r\n"), "2: it does not list"),
    "another line end": (f"{HEAD}{LINE[:-1]}\x0b", "2: it does not list"),
    "a number for a URI": (line(f"[{VERSION}]", "1"), "2: it does not list"),
    "half of a surrogate pair": (line(f"[{VERSION}]", r'"https://e.org/\ud800"'), "2: "),
    "half of one in a type": (line(f"[{VERSION}]".replace("text/html", r"\udc00")), "2: "),
    "an escape that is not needed": (
        line(f"[{VERSION}]", r'"https://e.org/\u0061"'),
        "2: it is not in the form that this program",
    ),
    "no escape of JSON": (line(f"[{VERSION}]", r'"https://e.org/\x"'), "2: "),
    "no versions": (line("[]"), "2: it does not list"),
    "deletions alone": (line(f'[["{TIME}", "", null, null]]'), "2: it does not list"),
    "an object of versions": (line("{}"), "2: it does not list"),
    "deep nesting": (line("[" * 100_000), "2: it does not list"),
    "a short version": (line(f'[["{TIME}", "{DIGEST}"]]'), "2: it does not list"),
    "no time": (line(f"[{VERSION}]".replace(f'"{TIME}"', "null")), "2: it does not list"),
    "a day that does not exist": (line(f"[{VERSION}]".replace("03-01", "02-30")), "2: "),
    "a time without a zone": (line(f"[{VERSION}]".replace("00Z", "00")), "2: it does not list"),
    "NaN": (line(f"[{VERSION}]".replace(" 1,", " NaN,")), "2: it does not list"),
    "a huge number": (line(f"[{VERSION}]".replace(" 1,", f" 1{'0' * 5_000},")), "2: it does not list"),
    "less than nothing": (line(f"[{VERSION}]".replace(" 1,", " -1,")), "2: it does not list"),
    "a fraction": (line(f"[{VERSION}]".replace(" 1,", " 1.5,")), "2: it does not list"),
    "a boolean": (line(f"[{VERSION}]".replace(" 1,", " true,")), "2: it does not list"),
    "a list for a type": (line(f"[{VERSION}]".replace('"text/html"', "[]")), "2: it does not list"),
    "versions out of order": (line(f"[{VERSION}, {VERSION.replace('2024', '2023')}]"), "2: it is out of order"),
    "a line twice": (f"{HEAD}{LINE}{LINE}", "3: it is out of order"),
    "lines out of order": (f"{HEAD}{LINE.replace('/a', '/b')}{LINE}", "3: it is out of order"),
    **{f"the name {name[:20]!a}": (named(name), "2: ") for name in HOSTILE_NAMES if name},
    **{
        f"the name {name!a} below": (named(f"{DIGEST}{name}"), "2: ") for name in ("/../x", "/x", ".", ".A", "\0", "\n")
    },
    "the name of another hash": (named(DIGEST[1:]), "2: it does not list"),
    "a number for a name": (named(1), "2: it does not list"),
}


def test_by_hand() -> None:
    """It is read as it is written, byte for byte, in the order of the JSON of its URIs."""
    half = "2024-03-01T12:00:00.5Z"
    versions = [Version(TIME, DIGEST, 0, 'a "type"'), Version(half), Version(half, f"{DIGEST}.x", 7)]
    given = {"é\t\U0001f600": versions, "b": versions[:1]}
    lines = {json.dumps(uri): render_versions(uri, each) for uri, each in given.items()}
    history = VersionHistory(["https://e.org/versions", "é", "", "some"], TIME, lines)
    data = history.render()
    first = f'["{TIME}", "{DIGEST}", 0, "a \\"type\\""]'
    assert data.decode("ascii").split("\n") == [
        f'["https://e.org/versions", "\\u00e9", "", "some", "{TIME}"]',
        f'["\\u00e9\\t\\ud83d\\ude00",\t[{first}, ["{half}", "", null, null], ["{half}", "{DIGEST}.x", 7, null]]]',
        f'["b",\t[{first}]]',
        "",
    ]
    found = parse_version_history(data, "name")
    assert (found, found.render()) == (history, data)
    assert parse_versions(found.lines['"b"']) == ("b", versions[:1])
    assert version_lengths(found.lines.values()) == {DIGEST: 0, f"{DIGEST}.x": 7}


@pytest.mark.promise("Nothing from outside")
@pytest.mark.parametrize(("text", "why"), DAMAGED.values(), ids=DAMAGED)
def test_damaged(text: str, why: str) -> None:
    """Whatever else there is, the message names the file and the line."""
    with pytest.raises(DocumentError) as caught:
        parse_version_history(text.encode(), "versions.jsonl")
    assert str(caught.value).startswith(f"versions.jsonl is damaged in line {why}")
    assert len(str(caught.value)) < 300


def test_long_lines() -> None:
    """A line of ten thousand versions is read, and one that is wrong at its end is refused, at once."""
    many = ", ".join([VERSION] * 10_000)
    assert len(parse_versions(parse_version_history(line(f"[{many}]").encode(), "name").lines[URI])[1]) == 10_000
    for wrong in (f"[{many}, 1]", f'[{VERSION[:-1]}{chr(92) * 100_001}"]'):
        with pytest.raises(DocumentError, match="line 2"):
            parse_version_history(line(wrong).encode(), "name")
