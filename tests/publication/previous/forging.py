"""Hostile previous publications: real ones, altered at random and given hashes and lengths that add up again.

Each case is determined by its kind and its number.
"""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from xml.sax.saxutils import escape

SITEURL = "https://example.org"
LONG = 200_000
DAY = 86_400

#: URIs that no publication of this site may contain, or that look as if they were of this site.
URIS = (
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "ftp://example.org/a.html",
    "https://other.example/a.html",
    "http://example.org/a.html",
    "https://example.org.evil.example/a.html",
    "https://example.org:8443/a.html",
    "https://example.org@evil.example/a.html",
    "https://user:secret@example.org/a.html",
    "HTTPS://EXAMPLE.ORG/a.html",
    "//example.org/a.html",
    "/a.html",
    "a.html",
    "https://example.org",
    "https://[::1/a.html",
    "https://example.org/\u009b31m",
    "https://example.org/\u202egnp.exe",
    "https://example.org/a b.html",
    "https://example.org/\u00e4\U0001f600.html",
    "https://example.org/a.html\u2028x",
    "https://example.org/../../etc/passwd",
    "https://example.org/%2e%2e/%2e%2e/etc/passwd",
    "https://example.org/%00%0a%1b[31m",
    "https://example.org/a.html#fragment",
    "https://example.org/a.html?token=secret",
    "https://example.org/resourcesync/publication.json",
    "https://example.org/resourcesync/site/resourcelist.xml",
    f"https://example.org/{'a' * LONG}",
    f"https://other.example/{'b' * LONG}",
    "x" * LONG,
    "",
    "   ",
)

#: Times that are no time, or none that a publication can have.
TIMES = (
    "0001-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z",
    "2001-02-03T04:05:06Z",
    "2038-01-19T03:14:08Z",
    "2099-12-31T23:59:59.999Z",
    "8999-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999Z",
    "10000-01-01T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "2024-01-05",
    "2024-01-05T12:00:00",
    "2024-01-05T12:00:00+23:59",
    "2024-01-05T12:00:00.000000001Z",
    "2024",
    "now",
    "",
    "9" * 500,
)

NUMBERS: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    7,
    10**15,
    10**30,
    10**400,
    True,
    1.5,
    "4",
    None,
    [],
    {},
    float("nan"),
    float("inf"),
)

JUNK: tuple[Any, ...] = (
    None, True, -1, 1.5, 10**400, "", "x", "\u009b\u202e", "\x00", "../../etc", "y" * LONG, [], [[]], {}, {"": None},
    {"../../x": "0" * 64}, [None], [1, 2], ["../x"], {"a": {"b": []}}, float("nan"),
)  # fmt: skip

FORMER = (
    "https://other.example",
    "https://u:p@other.example",
    "javascript:x",
    "file:",
    "https:",
    "",
    "https://example.org",
)

CAPABILITIES = (
    "description", "capabilitylist", "resourcelist", "resourcedump", "changelist", "changedump", "resourcelist-archive",
    "changelist-archive", "resourcedump-manifest", "changedump-manifest", "", "unknown", "RESOURCELIST",
)  # fmt: skip

_TIME = re.compile(rb'(?<=["<>])\d{4}-\d\d-\d\dT[\d:.]+Z(?=["<])|(?<=<lastmod>)[^<]+')
_LOC = re.compile(rb"(?<=<loc>)[^<]*|(?<=href=\")[^\"]*")
_ENTRY = re.compile(rb" *<(url|sitemap)>.*?</\1>\n", re.DOTALL)
_PACKED = re.compile(rb'<loc>([^<]*\.zip)</loc>(?:(?!</url>).)*?hash="([^"]*)" length="([^"]*)"', re.DOTALL)


@dataclass
class Forgery:
    """The files of a publication by path, to be altered; `states` are the paths of its `publication.json` files."""

    files: dict[str, bytes]
    rng: random.Random
    states: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Find the states."""
        self.states = sorted(path for path in self.files if path.endswith("/publication.json"))

    def documents(self, *containing: bytes) -> list[str]:
        """Return the paths of the XML documents that a state names and that contain these bytes."""
        named = [path for state in self.states for path in json.loads(self.files[state])["documents"]]
        chosen = [
            path
            for path in sorted(named)
            if path.endswith(".xml") and all(each in self.files[path] for each in containing)
        ]
        return chosen or sorted(path for path in named if path.endswith(".xml"))

    def document(self, *containing: bytes) -> str:
        """Choose a document."""
        return self.rng.choice(self.documents(*containing))

    def packages(self) -> list[str]:
        """Return the paths of the packages."""
        return sorted(path for path in self.files if path.endswith(".zip"))

    def replace_one(self, path: str, pattern: "re.Pattern[bytes]", new: bytes) -> bytes:
        """Replace one match, chosen at random, and return what was there."""
        found = [*pattern.finditer(self.files[path])]
        if not found:
            return b""
        match = self.rng.choice(found)
        data = self.files[path]
        self.files[path] = data[: match.start()] + new + data[match.end() :]
        return match[0]

    def replace_everywhere(self, old: bytes, new: bytes) -> None:
        """Replace a text in all documents and states, and in the manifests in packages."""
        for path, data in self.files.items():
            if old and path.startswith(("resourcesync/", ".well-known")) and not path.endswith(".zip"):
                self.files[path] = data.replace(old, new)
        self.pack_manifests()

    def pack_manifests(self) -> None:
        """Put the copies of the manifests into the packages."""
        for path in self.packages():
            copy = self.files.get(f"{path.removesuffix('.zip')}-manifest.xml")
            members = members_of(self.files[path])
            if copy is not None and members.get("manifest.xml", copy) != copy:
                self.files[path] = packed({**members, "manifest.xml": copy})

    def seal(self) -> None:
        """Correct the hashes and lengths of packages in the dumps, and those of all documents in the states."""
        for path in [path for path in self.files if path.endswith(".xml")]:
            self.files[path] = _PACKED.sub(self._measured, self.files[path])
        for state in self.states:
            content = json.loads(self.files[state])
            for kind in ("documents", "superseded"):
                content[kind] = {
                    path: sha256(self.files[path]).hexdigest() if path in self.files else digest
                    for path, digest in content[kind].items()
                }
            self.files[state] = json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"

    def _measured(self, match: "re.Match[bytes]") -> bytes:
        data = self.files.get(match[1].decode().removeprefix(f"{SITEURL}/"))
        if data is None:
            return match[0]
        start, text = match.start(), match[0]
        digest, length = f"sha-256:{sha256(data).hexdigest()}".encode(), str(len(data)).encode()
        text = text[: match.start(3) - start] + length + text[match.end(3) - start :]
        return text[: match.start(2) - start] + digest + text[match.end(2) - start :]

    def alter_state(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Alter the content of one `publication.json`."""
        path = self.rng.choice(self.states)
        content = json.loads(self.files[path])
        change(content)
        self.files[path] = json.dumps(content).encode()

    def recount(self) -> None:
        """Correct the number of changes in each state."""
        for path in self.states:
            content = json.loads(self.files[path])
            lists = [each for each in content["documents"] if re.search(r"/changelist-\d", each)]
            content["changes"] = sum(self.files[each].count(b"<url>") for each in lists if each in self.files)
            self.files[path] = json.dumps(content).encode()


def members_of(package: bytes) -> dict[str, bytes]:
    """Return the members of a package by name."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Mapping[str, bytes], comment: bytes = b"", extra: bytes = b"", mode: int = 0o100644) -> bytes:
    """Return a package with these members, which are plain files by default."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.extra = mode << 16, extra
            archive.writestr(info, data)
    return stream.getvalue()


def _uri(forgery: Forgery) -> None:
    """Let an entry or a link name another URI, in one document or wherever it was named."""
    new = escape(forgery.rng.choice(URIS), {'"': "&quot;"}).encode()
    consistently = forgery.rng.random() < 0.5
    path = forgery.document(b"<loc>")
    copy = dict(forgery.files)
    old = forgery.replace_one(path, _LOC, new)
    if consistently and old.rpartition(b"/")[0].count(b"/") < 4:
        forgery.files.update(copy)
        forgery.replace_everywhere(old, new)


def _time(forgery: Forgery) -> None:
    """Let something have another time, in one document or wherever that time is."""
    rng = forgery.rng
    path = forgery.document(b"T")
    found = [*_TIME.finditer(forgery.files[path])]
    if not found:
        return
    old = rng.choice(found)[0]
    new = rng.choice([*TIMES, *[_near(old.decode(), rng.choice([-40 * DAY, -1, 1, 60, 40 * DAY]))] * 10]).encode()
    if rng.random() < 0.4:
        forgery.replace_everywhere(old, new)
        old_stamp, new_stamp = (each.replace(b"-", b"").replace(b":", b"") for each in (old, new))
        if rng.random() < 0.7 and len(new_stamp) < 100:  # as a file name can be
            forgery.replace_everywhere(old_stamp, new_stamp)
            names = {path: path.replace(old_stamp.decode(), new_stamp.decode()) for path in forgery.files}
            forgery.files = {names[path]: data for path, data in forgery.files.items()}
    else:
        forgery.replace_one(path, re.compile(re.escape(old)), new)


def _near(time: str, seconds: int) -> str:
    try:
        return f"{datetime.fromisoformat(time) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        return time


def _until(forgery: Forgery) -> None:
    """Leave out `until`: of one range, of one document, or of all."""
    paths = forgery.documents(b" until=")
    until = re.compile(rb' until="[^"]*"')
    how = forgery.rng.randrange(3)
    for path in paths if how == 0 else [forgery.rng.choice(paths)]:
        if how < 2:
            forgery.files[path] = until.sub(b"", forgery.files[path])
        else:
            forgery.replace_one(path, until, b"")
    forgery.pack_manifests()


def _count(forgery: Forgery) -> None:
    """Let `publication.json` have another number of something."""
    key = forgery.rng.choice(["changes", "changes", "generation", "start", "format", "restless"])
    number = forgery.rng.choice(NUMBERS)
    forgery.alter_state(lambda content: content.update({key: {"x": number} if key == "restless" else number}))


def _ranges(forgery: Forgery) -> None:
    """Let ranges overlap, leave gaps, come in another order, or be others."""
    rng = forgery.rng
    path = rng.choice([each for each in forgery.documents(b" from=") if forgery.files[each].count(b" from=") > 2])
    entries = [match[0] for match in _ENTRY.finditer(forgery.files[path])]
    how = rng.randrange(4)
    if how == 0:
        rng.shuffle(entries)
    elif how == 1:
        del entries[rng.randrange(len(entries))]
    elif how == 2:
        entries.insert(rng.randrange(len(entries)), rng.choice(entries))
    else:
        shifted = re.sub(
            rb'(?<=from=")\d{4}-\d\d', rng.choice([b"2023-12", b"2024-02", b"2024-04"]), rng.choice(entries)
        )
        entries[rng.randrange(len(entries))] = shifted
    rewrite(forgery, path, entries)
    if rng.random() < 0.5:
        forgery.recount()


def rewrite(forgery: Forgery, path: str, entries: list[bytes]) -> None:
    """Replace the entries of a document."""
    data = forgery.files[path]
    matches = [*_ENTRY.finditer(data)]
    if matches:
        forgery.files[path] = data[: matches[0].start()] + b"".join(entries) + data[matches[-1].end() :]


def _capability(forgery: Forgery) -> None:
    """Let a document or a link to it have another capability, or lead to another document."""
    rng = forgery.rng
    how = rng.randrange(3)
    path = forgery.document(b"capability=") if how else rng.choice([p for p in forgery.documents() if "capab" in p])
    if how == 2:
        links = re.compile(rb"<rs:ln [^>]*/>")
        forgery.replace_one(path, links, rng.choice([b"", b'<rs:ln rel="up" href="https://other.example/"/>']))
    elif rng.random() < 0.3:
        other = rng.choice(forgery.documents()).encode()
        forgery.replace_one(path, re.compile(rb"(?<=<loc>https://example.org/)resourcesync[^<]*"), other)
    else:
        forgery.replace_one(path, re.compile(rb'(?<=capability=")[^"]*'), rng.choice(CAPABILITIES).encode())


def _duplicated(forgery: Forgery) -> None:
    """Let a document list something twice, or a thousand times."""
    _entries(forgery, lambda entries, at: entries.insert(at, entries[at]))
    if forgery.rng.random() < 0.2:
        _entries(forgery, lambda entries, at: entries.extend([entries[at]] * 1000))


def _dropped(forgery: Forgery) -> None:
    """Let a document lack something, or everything."""
    if forgery.rng.random() < 0.2:
        _entries(forgery, lambda entries, _at: entries.clear())
    else:
        _entries(forgery, lambda entries, at: entries.pop(at))


def _entries(forgery: Forgery, change: Callable[[list[bytes], int], object]) -> None:
    path = forgery.document(b"<loc>")
    entries = [match[0] for match in _ENTRY.finditer(forgery.files[path])]
    if entries:
        change(entries, forgery.rng.randrange(len(entries)))
        rewrite(forgery, path, entries)
    if forgery.rng.random() < 0.7:
        forgery.recount()
    if forgery.rng.random() < 0.5:
        forgery.pack_manifests()


def _kind(forgery: Forgery) -> None:
    """Let an entry say something else of its resource: the kind of change, hash, length, media type."""
    rng = forgery.rng
    name, values = rng.choice(
        [
            ("change", ["created", "updated", "deleted", "moved", ""]),
            ("hash", ["sha-256:" + "0" * 64, "md5:" + "0" * 32, "sha-256:x", "sha-256:", "x", "", "sha-1:1 sha-256:2"]),
            ("length", ["0", "-1", "1e3", str(10**30), "9" * 5000, "", "1.5"]),
            ("type", ["text/html", "x", "", "text/html; a=\u009b", "a/" + "b" * LONG]),
            ("path", ["/../../x", "x", "/manifest.xml", "", "/" + "p" * 3000, "/\u009b"]),
            ("datetime", [*TIMES]),
        ]
    )
    path = forgery.document(f" {name}=".encode())
    attribute = rng.choice([f' {name}="{rng.choice(values)}"', ""]).encode()
    forgery.replace_one(path, re.compile(rf' {name}="[^"]*"'.encode()), attribute)
    if rng.random() < 0.5:
        forgery.pack_manifests()


def _sets(forgery: Forgery) -> None:
    """Let sets have other names, the documents of other sets, or none."""
    rng = forgery.rng
    how = rng.randrange(5)
    names = [["site"], ["nothing"], ["../x"], ["site", "site"], ["Ä"], "site", [1], ["a" * 101], ["site", "books", "x"]]
    if how == 0:
        forgery.alter_state(lambda content: content.update(sets=rng.choice(names)))
    elif how == 1 and len(forgery.states) > 1:
        first, second = forgery.states[:2]
        forgery.files[first], forgery.files[second] = forgery.files[second], forgery.files[first]
    elif how == 2:
        forgery.replace_everywhere(
            b"resourcesync/site", rng.choice([b"resourcesync/books", b"resourcesync/../site", b"x"])
        )
    elif how == 3:
        path = forgery.document()
        forgery.files[path] = forgery.files[forgery.document()]
    else:
        other = rng.choice([*URIS[:20], "http://localhost:8000", "https://example.org/blog", "https://example.org/"])
        forgery.alter_state(lambda content: content.update(siteurl=other))


def _named(forgery: Forgery) -> None:
    """Let `publication.json` name other documents: too few, too many, others than there are."""
    rng = forgery.rng
    digest = sha256(b"own").hexdigest()
    paths = ["../x", "/etc/passwd", "index.html", "a.html", "resourcesync", "", ".", "resourcesync/site/\u009b.xml"]
    paths += ["resourcesync/site/own.xml", "x" * 5000, "resourcesync/site/archive/own.xml", "a\x00b", "\ud800"]
    paths += ["resourcesync/site/own-manifest.xml", "resourcesync/site/own.zip"]
    key = rng.choice(["documents", "superseded"])

    def change(content: dict[str, Any]) -> None:
        if rng.random() < 0.4 and content[key]:
            del content[key][rng.choice(sorted(content[key]))]
        else:
            content[key][rng.choice(paths)] = rng.choice([digest, "", "0" * 64, None, 1])

    for path in (
        "resourcesync/site/own.xml",
        "resourcesync/site/archive/own.xml",
        "resourcesync/site/own-manifest.xml",
    ):
        forgery.files[path] = b"own"
    forgery.alter_state(change)


def _packages(forgery: Forgery) -> None:  # noqa: C901 - one branch for each way
    """Let packages be others than their dump says: exchanged, empty, no packages, with other members."""
    rng = forgery.rng
    packages = forgery.packages()
    if not packages:
        _dropped(forgery)
        return
    path, other = rng.choice(packages), rng.choice(packages)
    manifest = f"{path.removesuffix('.zip')}-manifest.xml"
    members = members_of(forgery.files[path])
    own = sorted(members.keys() - {"manifest.xml"})
    how = rng.randrange(11)
    if how == 10:
        forgery.files[path] = rng.choice(
            [
                packed(members, comment=b"more"),
                packed(members, extra=b"\xff\xff\x04\x00more"),
                packed(members, mode=0o120777),
                packed(members, mode=0o104755),
                b"#!/bin/sh\n" + packed(members),
                packed(members) + b"more",
            ]
        )
    elif how == 0:
        forgery.files[path], forgery.files[other] = forgery.files[other], forgery.files[path]
    elif how == 1:
        forgery.files[path] = rng.choice(
            [b"", b"PK", packed({}), forgery.files[path][:-30], forgery.files[path] + b"x" * 70_000]
        )
    elif how == 2:
        forgery.files[path] = packed({name: data for name, data in members.items() if name != "manifest.xml"})
    elif how == 3 and own:
        forgery.files[path] = packed({**members, rng.choice(own): b"altered"})
    elif how == 4 and own:
        del members[rng.choice(own)]
        forgery.files[path] = packed(members)
    elif how == 5:
        forgery.files[path] = packed({**members, rng.choice(["../../x", "/etc/passwd", "more", "a\\b"]): b"more"})
    elif how == 6:
        forgery.files[manifest] = forgery.files[f"{other.removesuffix('.zip')}-manifest.xml"]
    elif how == 7:
        forgery.files[path] = packed({**members, "manifest.xml": b"<!DOCTYPE x><x/>"})
    elif how == 8:
        forgery.files[path] = packed({**members, "manifest.xml": forgery.files[rng.choice(forgery.documents())]})
    else:
        del forgery.files[rng.choice([path, manifest])]


def _json(forgery: Forgery) -> None:
    """Let `publication.json` have values of other types, or be no JSON at all."""
    rng = forgery.rng
    path = rng.choice(forgery.states)
    data = forgery.files[path]
    content = json.loads(data)
    key = rng.choice(sorted(content))
    how = rng.randrange(6)
    if how == 0:
        whole = [
            b"",
            b"[]",
            b"null",
            b"NaN",
            b'"x"',
            b"1" * 10_000,
            b"[" * 100_000,
            b'{"a":' * 100_000,
            data[:-9],
            data * 2,
        ]
        whole += [
            b"\xef\xbb\xbf" + data,
            data.decode().encode("utf-16"),
            b"\xff" + data,
            b"{}",
            b'{"format": 1}',
            b"\x00",
        ]
        forgery.files[path] = rng.choice(whole)
    elif how == 1:
        del content[key]
        forgery.files[path] = json.dumps(content).encode()
    elif how == 2:
        inner = rng.choice(["documents", "held", "restless", "superseded"])
        content[inner][rng.choice(["x", *content[inner]])] = rng.choice(JUNK)
        forgery.files[path] = json.dumps(content).encode()
    elif how == 3:
        nested = b"[" * 3000 + b"]" * 3000
        forgery.files[path] = data.replace(
            f'"{key}": '.encode(), f'"{key}": '.encode() + nested + f', "{key}": '.encode(), 1
        )
    elif how == 4:
        if rng.random() < 0.5:
            content["evaluated"] = rng.choice([*TIMES, *JUNK])
        else:
            content["former"] = rng.choice([*JUNK, *([each] for each in FORMER)])
        forgery.files[path] = json.dumps(content).encode()
    else:
        content[key] = rng.choice([*JUNK, *NUMBERS, *TIMES])
        forgery.files[path] = json.dumps(content).encode()


def _xml(forgery: Forgery) -> None:
    """Let a document be other XML, or none."""
    rng = forgery.rng
    path = forgery.document()
    data = forgery.files[path]
    head, body = data.split(b"\n", 1)
    doctype = b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "file:///etc/passwd">]>\n'
    whole = [
        head + b"\n" + doctype + body,
        doctype + body.replace(b"<loc>", b"<loc>&a;", 1),
        head + b"\n" + body.replace(b"<loc>", b"<loc>&c;", 1),
        data.decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        data.replace(b"UTF-8", b"ISO-8859-1"),
        data.replace(b"UTF-8", b"no-such-encoding"),
        data.replace(b'"1.0"', b'"1.1"', 1),
        b"\xef\xbb\xbf" + data,
        data[: rng.randrange(len(data))],
        data[: -rng.randrange(1, 40)],
        data + b"<more/>",
        data + b"\x00",
        data.replace(b"http://www.openarchives.org/rs/terms/", b"http://www.openarchives.org/rs/terms"),
        data.replace(b"http://www.sitemaps.org/schemas/sitemap/0.9", b"urn:other"),
        data.replace(b"xmlns:rs=", b"xmlns:other="),
        data.replace(b"rs:", b"other:"),
        data.replace(b"<urlset", b"<sitemapindex").replace(b"</urlset", b"</sitemapindex"),
        data.replace(b"<url>", b"<sitemap>").replace(b"</url>", b"</sitemap>"),
        data.replace(b"<url>", b"<url><!-- <url> -->", 1),
        data.replace(b"<url>", b"<url>" + b"<x>" * 400 + b"</x>" * 400, 1),
        data.replace(b"</url>\n", b"</url>\n<rs:md capability='x'/>\n", 1),
        data.replace(b"<rs:md ", b"<rs:md\n\n", 1),
        data.replace(b"</loc>", b"</loc><loc>https://example.org/second</loc>", 1),
        data.replace(b"</loc>", b"<b>x</b></loc>", 1),
        data.replace(b"<loc>", b"<loc><![CDATA[", 1).replace(b"</loc>", b"]]></loc>", 1),
        data.replace(b"<loc>", b"<LOC>", 1).replace(b"</loc>", b"</LOC>", 1),
        data.replace(b"\n", b"").replace(b"  ", b""),
        b"",
        b"<html><body>Not found</body></html>",
        b"<x>" * 100_000,
    ]
    forgery.files[path] = rng.choice(whole)
    if rng.random() < 0.5:
        forgery.pack_manifests()


FOREIGN = (
    b'<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
    b'<?xml-stylesheet type="text/xsl" href="https://other.example/x.xsl"?>',
    b"<!-- comment -->",
    b"<![CDATA[text]]>",
    b"<priority>1.0</priority>",
    b'<x xmlns="urn:other">text</x>',
    b'<rs:other href="https://other.example/"/>',
    b"text",
    b"\n\n  ",
    b'<h:link xmlns:h="http://www.w3.org/1999/xhtml" rel="alternate" href="javascript:alert(1)"/>',
)
ATTRIBUTES = (
    b' onload="alert(1)"',
    b' xml:lang="en"',
    b' xmlns:h="http://www.w3.org/1999/xhtml"',
    b' x="y"',
    b' style="background: url(https://other.example/)"',
    b' xml:base="https://other.example/"',
    b' rs:capability="changelist"',
)


def _foreign(forgery: Forgery) -> None:
    """Let a document contain what readers ignore: other elements, attributes, comments, instructions, spaces."""
    rng = forgery.rng
    path = forgery.document()
    data = forgery.files[path]
    if rng.random() < 0.6:
        at = rng.choice([match.end() for match in re.finditer(rb">", data)])
        forgery.files[path] = data[:at] + rng.choice(FOREIGN) + data[at:]
    else:
        match = rng.choice([*re.finditer(rb"<(?:rs:)?[a-z]+(?=[ />])", data)])
        forgery.files[path] = data[: match.end()] + rng.choice(ATTRIBUTES) + data[match.end() :]
    if rng.random() < 0.7:
        forgery.pack_manifests()


def _twice(forgery: Forgery) -> None:
    """Alter two things."""
    for kind in forgery.rng.sample([_uri, _time, _until, _ranges, _duplicated, _dropped, _kind, _capability], 2):
        kind(forgery)


#: How to alter the documents, before the hashes are corrected.
KINDS: Mapping[str, Callable[[Forgery], None]] = {
    "uri": _uri,
    "time": _time,
    "until": _until,
    "ranges": _ranges,
    "capability": _capability,
    "duplicated": _duplicated,
    "dropped": _dropped,
    "kind": _kind,
    "packages": _packages,
    "xml": _xml,
    "foreign": _foreign,
    "sets": _sets,
    "twice": _twice,
}

#: How to alter `publication.json`, after that.
STATE_KINDS: Mapping[str, Callable[[Forgery], None]] = {
    "count": _count,
    "named": _named,
    "json": _json,
}


def forge(kind: str, number: int, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a publication altered in one way of this kind; hashes and lengths add up again."""
    forgery = Forgery(dict(files), random.Random(f"{kind} {number}"))
    if kind in KINDS:
        KINDS[kind](forgery)
        forgery.seal()
    else:
        STATE_KINDS[kind](forgery)
    return forgery.files
