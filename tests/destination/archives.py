"""A Source for tests with dumps and archives, written by hand after the standard."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tests.kit.documents import package
from tests.kit.sources import FakeSource, digest, document, living, stamp

UP = "rs/capabilitylist.xml"
PATCH, RELATION = b"what changed in a page", "http://www.openarchives.org/rs/terms/patch"


def manifest(kind: str, entries: str, **md: str) -> bytes:
    """Write the manifest of a package."""
    return document("urlset", {"capability": f"{kind}-manifest", **md}, entries)


@dataclass
class Published:
    """What was published once: when, the resources with their times, and what had changed since the last time."""

    at: datetime
    begin: datetime
    resources: dict[str, bytes]
    times: dict[str, datetime]


@dataclass
class ArchivedSource(FakeSource):
    """A Source that also has dumps, and archives of the last `keep` publications of each kind.

    Its Change Dumps have patches `beside` the new bytes of what was updated, or `instead`.
    """

    dumps: bool = True
    archives: bool = True
    contents: bool = True
    keep: int | None = None
    patches: Literal["", "beside", "instead"] = ""
    history: list[Published] = field(default_factory=list)
    last: datetime | None = None

    def publish(self) -> None:
        """Let the host serve what there is now, and what is kept of the past."""
        begin = self.last or self.begin
        if not self.history or self.now > self.history[-1].at:
            self.history.append(Published(self.now, begin, dict(self.resources), dict(self.times)))
        self.last = self.now
        super().publish()
        if self.dumps:
            self._change_dumps()
            self._resource_dump("rs/resourcedump.xml", self.history[-1])
            self.name("resourcedump", "rs/resourcedump.xml")
        for kind in ["resourcelist", *["resourcedump"] * self.dumps] if self.archives else []:
            self._archive(kind)

    def state_at(self, time: datetime) -> dict[str, bytes]:
        """Return what the resources were at a time."""
        found: dict[str, bytes] = {}
        for moment, path, _, data in self.all_changes:
            if moment <= time:
                found.pop(path, None)
                if data is not None:
                    found[path] = data
        return found

    @property
    def all_changes(self) -> list[tuple[datetime, str, str, bytes | None]]:
        """All changes that were ever made, also those that are no longer published."""
        return self.forgotten_changes + self.changes

    forgotten_changes: list[tuple[datetime, str, str, bytes | None]] = field(default_factory=list)

    def retain(self, since: datetime) -> None:
        """Keep the Change Lists since a time only."""
        self.begin = since
        self.forgotten_changes += [each for each in self.changes if each[0] <= since]
        self.changes = [each for each in self.changes if each[0] > since]

    def forget(self, path: str) -> None:
        """Take a resource down from everything that is published."""
        self.resources.pop(path, None)
        for each in self.history:
            each.resources.pop(path, None)
        self.changes = [each for each in self.changes if each[1] != path]
        self.forgotten_changes = [each for each in self.forgotten_changes if each[1] != path]

    def _kept(self) -> list[Published]:
        return self.history[-self.keep :] if self.keep else self.history

    def _package(self, path: str, listed: bytes, members: dict[str, bytes], md: dict[str, str]) -> str:
        data = package(listed, members)
        self.published[path] = data
        link = ""
        if self.contents:
            self.published[f"{path}.xml"] = listed
            link = f'<rs:ln rel="contents" href="{self.url}{path}.xml" type="application/xml"/>'
        found = {"type": "application/zip", "length": str(len(data)), "hash": digest(data), **md}
        return self.entry(path, found, links=link)

    def _resource_dump(self, path: str, each: Published) -> None:
        at, entries = stamp(each.at), self.entries(each.resources, each.times, "/resources/")
        members = {f"resources/{name}": data for name, data in each.resources.items()}
        listed = manifest("resourcedump", entries, at=at)
        pointer = self._package(f"rs/dump-{at.replace(':', '')}.zip", listed, members, {"at": at})
        self.published[path] = document("urlset", {"capability": "resourcedump", "at": at}, pointer, up=self.url + UP)

    def _change_dumps(self) -> None:
        pointers, kept = "", [each for each in self._kept() if each.begin >= self.begin]
        if not kept:
            return
        for each in kept:
            entries, members = "", {}
            for number, (time, path, kind, data) in enumerate(self.changes):
                if each.begin < time <= each.at:
                    md, link = {"change": kind}, ""
                    if data is not None:
                        md |= self._md(data)
                    if kind == "updated" and self.patches:
                        members[f"{number}.patch"] = PATCH
                        link = f'<rs:ln rel="{RELATION}" href="{self.url}{number}.patch" hash="{digest(PATCH)}"'
                        link += f' type="application/x-dcz" path="/{number}.patch"/>'
                    if data is not None and not (link and self.patches == "instead"):
                        md["path"] = f"/{number}/{path}"
                        members[f"{number}/{path}"] = data
                    entries += self.entry(path, md, stamp(time), links=link)
            md = {"from": stamp(each.begin), "until": stamp(each.at)}
            name = f"rs/changedump-{stamp(each.at).replace(':', '')}.zip"
            pointers += self._package(name, manifest("changedump", entries, **md), members, md)
        md = {"capability": "changedump", "from": stamp(kept[0].begin)}
        self.published["rs/changedump.xml"] = document("urlset", md, pointers, up=self.url + UP)
        self.name("changedump", "rs/changedump.xml")

    def _archive(self, kind: str) -> None:
        pointers = ""
        for each in self._kept():
            at = stamp(each.at)
            path = f"rs/archive/{kind}-{at.replace(':', '')}.xml"
            if kind == "resourcedump":
                self._resource_dump(path, each)
            else:
                md, entries = {"capability": kind, "at": at}, self.entries(each.resources, each.times)
                self.published[path] = document("urlset", md, entries, up=self.url + UP)
            pointers += self.entry(path, {"at": at})
        path = f"rs/{kind}-archive.xml"
        self.published[path] = document("urlset", {"capability": f"{kind}-archive"}, pointers, up=self.url + UP)
        self.name(f"{kind}-archive", path)


def archived_source(resources: Mapping[str, str | bytes] | None = None) -> AbstractContextManager[ArchivedSource]:
    """Return a Source with dumps and archives on loopback, published with some resources."""
    return living(ArchivedSource, resources or {})
