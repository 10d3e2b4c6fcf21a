"""A Source for tests: documents written by hand, after the standard, and a host with conditional requests."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from pelican_resourcesync.destination import STATE_FOLDER, Following, Mirror, MirrorResult, follow
from pelican_resourcesync.options import MirrorOptions, SourceOptions
from tests.kit.live import Ask, Live, live

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
CAPABILITIES = "rs/capabilitylist.xml"
#: MirrorOptions for tests: no waiting for disks or hosts.
FAST = MirrorOptions(sync=False, backoff=0.001, max_wait=0.02, retries=2, jobs=3, timeout=10)


def stamp(time: datetime) -> str:
    """Write a time as the standard recommends."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def attributes(values: Mapping[str, str] | str) -> str:
    """Write attributes, which may be written already."""
    return values if isinstance(values, str) else " ".join(f'{key}="{escape(value)}"' for key, value in values.items())


def document(root: str, md: Mapping[str, str] | str, entries: str, up: str = "", links: str = "") -> bytes:
    """Write a document, an entry a line."""
    if up:
        links = f'<rs:ln rel="up" href="{escape(up)}"/>\n{links}'
    if md:
        links += f"<rs:md {attributes(md)}/>\n"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">'
        f"\n{links}{entries}</{root}>"
    ).encode()


def entry(uri: str, md: Mapping[str, str] | str = "", lastmod: str = "", tag: str = "url", links: str = "") -> str:
    """Write an entry."""
    lastmod = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    described = f"<rs:md {attributes(md)}/>" if md else ""
    return f"<{tag}><loc>{escape(uri)}</loc>{lastmod}{described}{links}</{tag}>\n"


def digest(data: bytes) -> str:
    """Return the hash of bytes as lists write it."""
    return f"sha-256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class FakeSource:
    """Resources by path, what changed, and what the host serves since the last publication."""

    site: Live
    resources: dict[str, bytes] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    changes: list[tuple[datetime, str, str, bytes | None]] = field(default_factory=list)
    published: dict[str, bytes] = field(default_factory=dict)
    states: list[dict[str, bytes]] = field(default_factory=list)
    now: datetime = BEGIN
    begin: datetime = BEGIN
    cut: list[datetime] = field(default_factory=list)
    hashes: bool = True
    change_lists: bool = True
    validators: bool = True

    @property
    def url(self) -> str:
        """The URL of the site, with a slash."""
        return f"{self.site.url}/"

    def put(self, path: str, data: bytes | str) -> None:
        """Create or update a resource."""
        data = data.encode() if isinstance(data, str) else data
        self.now += timedelta(minutes=1)
        self.changes.append((self.now, path, "updated" if path in self.resources else "created", data))
        self.resources[path], self.times[path] = data, self.now

    def delete(self, path: str) -> None:
        """Delete a resource."""
        self.now += timedelta(minutes=1)
        del self.resources[path]
        self.changes.append((self.now, path, "deleted", None))

    def update(self, changes: Mapping[str, bytes | str | None]) -> None:
        """Create or update the resources at these paths, or delete those of `None`; then publish."""
        for path, data in changes.items():
            if data is None:
                self.delete(path)
            else:
                self.put(path, data)
        self.publish()

    def close_range(self) -> None:
        """Begin a new Change List with the next change."""
        self.cut.append(self.now)

    def publish(self) -> None:
        """Let the host serve what there is now."""
        served = dict(self.resources)
        served[".well-known/resourcesync"] = document(
            "urlset",
            {"capability": "description"},
            self.entry(CAPABILITIES, {"capability": "capabilitylist"}),
        )
        named = self.entry("rs/resourcelist.xml", {"capability": "resourcelist"})
        if self.change_lists:
            named += self.entry("rs/changelist.xml", {"capability": "changelist"})
            served |= self._change_lists()
        served[CAPABILITIES] = document(
            "urlset", {"capability": "capabilitylist"}, named, up=f"{self.url}.well-known/resourcesync"
        )
        served["rs/resourcelist.xml"] = self.resource_list()
        self.published = served
        self.states.append(dict(self.resources))

    def resource_list(self) -> bytes:
        """Write the Resource List."""
        md = {"capability": "resourcelist", "at": stamp(self.now)}
        return document("urlset", md, self.entries(self.resources, self.times), up=self.url + CAPABILITIES)

    def entries(self, resources: Mapping[str, bytes], times: Mapping[str, datetime], packed: str = "") -> str:
        """Write the entries of resources, or those of a manifest in whose package they are below `packed`."""
        return "".join(
            self.entry(path, self._md(data) | ({"path": packed + path} if packed else {}), stamp(times[path]))
            for path, data in resources.items()
        )

    def _change_lists(self) -> dict[str, bytes]:
        edges = [self.begin, *(cut for cut in self.cut if cut > self.begin)]
        written, pointers = {}, ""
        for number, begin in enumerate(edges):
            end = edges[number + 1] if number + 1 < len(edges) else None
            md = {"capability": "changelist", "from": stamp(begin)} | ({"until": stamp(end)} if end else {})
            entries = "".join(
                self.entry(path, {"change": kind, **({} if data is None else self._md(data))}, stamp(time))
                for time, path, kind, data in self.changes
                if begin < time and (end is None or time <= end)
            )
            path = f"rs/changes-{number}.xml"
            written[path] = document("urlset", md, entries, up=self.url + CAPABILITIES)
            pointers += self.entry(path, {key: md[key] for key in ("from", "until") if key in md}, tag="sitemap")
        if len(edges) == 1:
            return {"rs/changelist.xml": written["rs/changes-0.xml"]}
        md = {"capability": "changelist", "from": stamp(self.begin)}
        return written | {"rs/changelist.xml": document("sitemapindex", md, pointers, up=self.url + CAPABILITIES)}

    def entry(
        self, path: str, md: Mapping[str, str] | str = "", lastmod: str = "", tag: str = "url", links: str = ""
    ) -> str:
        """Write an entry of a URL of the site."""
        return entry(self.url + path, md, lastmod, tag, links)

    def edit(self, path: str, old: str | bytes, new: str | bytes, count: int = -1) -> None:
        """Replace a text that a published document has."""
        old, new = (text.encode() if isinstance(text, str) else text for text in (old, new))
        assert old in self.published[path], (path, old)
        self.published[path] = self.published[path].replace(old, new, count)

    def add(self, path: str, *entries: str) -> None:
        """Let a published document list more."""
        self.edit(path, "</urlset>", f"{''.join(entries)}</urlset>")

    def name(self, capability: str, path: str) -> None:
        """Let the Capability List name a document, too."""
        self.add(CAPABILITIES, self.entry(path, {"capability": capability}))

    def hide(self, *capabilities: str) -> None:
        """Let the Capability List name these documents as something else."""
        for capability in capabilities:
            self.edit(CAPABILITIES, f'"{capability}"', '"other"')

    def write_to(self, folder: Path, **names: str) -> None:
        """Write what is published to a folder; some files have other names there."""
        for path, data in self.published.items():
            file = folder / names.get(path, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def _md(self, data: bytes) -> dict[str, str]:
        return {"hash": digest(data), "length": str(len(data))} if self.hashes else {}

    def answer(self, ask: Ask) -> None:
        """Answer as a static host does."""
        data = self.published.get(ask.path)
        if data is None:
            ask.send(404, b"<!DOCTYPE html><p>Not found", Content_Type="text/html")
            return
        tag = f'"{hashlib.md5(data).hexdigest()}"' if self.validators else ""
        modified = format_datetime(self.times.get(ask.path, self.now), usegmt=True) if self.validators else ""
        heads = {"ETag": tag, "Last_Modified": modified}
        if tag and ask.headers["If-None-Match"] == tag:
            ask.begin(304, **heads)
        elif ask.headers["Range"] and ask.headers["If-Range"] == tag:
            begin = int(ask.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if begin >= len(data):
                ask.send(416, b"", Content_Range=f"bytes */{len(data)}")
            else:
                span = f"bytes {begin}-{len(data) - 1}/{len(data)}"
                ask.send(206, data[begin:], Content_Range=span, **heads)
        else:
            ask.send(200, data, **heads)


SourceKind = TypeVar("SourceKind", bound=FakeSource)


@contextmanager
def living(kind: type[SourceKind], resources: Mapping[str, str | bytes]) -> Iterator[SourceKind]:
    """Yield a Source of a kind on loopback, published with some resources."""
    with live(lambda ask: None) as site:
        site.keep_alive = True
        source = kind(site)
        site.manner = source.answer
        for path, data in resources.items():
            source.put(path, data)
        source.publish()
        yield source


def fake_source(resources: Mapping[str, str | bytes] | None = None) -> AbstractContextManager[FakeSource]:
    """Return a Source on loopback, published with some resources."""
    return living(FakeSource, resources or {})


def in_step(source: FakeSource, folder: Path, options: MirrorOptions = FAST, **changed: Any) -> MirrorResult:
    """Update a copy, which then is complete and has what the Source has; return the result."""
    result = Mirror(source.url, folder, replace(options, **changed)).run()
    assert result.complete, (result.missing, result.not_deleted, result.plan.unread)
    assert files_of(folder) == source.resources
    return result


def following(source: str, since: str | None = None, options: MirrorOptions = FAST, **wanted: Any) -> Following:
    """Follow a Source with the options of reading it, and what else `follow` takes."""
    given = {field.name: getattr(options, field.name) for field in fields(SourceOptions)}
    return follow(source, since, **given, **wanted)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a copy, without the mirror's own."""
    return {
        path: file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not (path := file.relative_to(folder).as_posix()).startswith(f"{STATE_FOLDER}/")
    }
