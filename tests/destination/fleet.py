"""Many Sources on many hosts of loopback, some of them broken, and when each host was asked."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tests.kit.live import Ask, Live, Manner, content, endless, late, live, redirect, status, truncated
from tests.kit.sources import FakeSource, files_of

#: What can be wrong with a Source: the path, how it is answered, and the exit status that this leads to.
BROKEN: dict[str, tuple[str, Manner, int]] = {
    "gone": ("rs/capabilitylist.xml", status(404), 2),
    "garbage": ("rs/resourcelist.xml", content(b"<urlset><rs:md capability='resourcelist'"), 2),
    "loop": ("rs/capabilitylist.xml", redirect("capabilitylist.xml"), 2),
    "huge list": ("rs/resourcelist.xml", endless, 2),
    "truncated": ("1.html", truncated(b"<p>cut"), 3),
    "hanging": ("1.html", late(60, status(200)), 3),
    "other bytes": ("1.html", content(b"<p>other"), 3),
    "private": ("1.html", redirect("http://169.254.169.254/latest/meta-data"), 3),
    "huge": ("1.html", endless, 3),
    "failing": ("1.html", status(500), 3),
}


@dataclass
class Host:
    """A host: the Sources by the first folder of their URL, the times of all requests, and the most at once."""

    site: Live
    robots: bytes = b""
    sources: dict[str, FakeSource] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    most: int = 0
    slowness: float = 0.0
    _active: int = 0
    _lock: Lock = field(default_factory=Lock)

    def answer(self, ask: Ask) -> None:
        """Answer for one of the Sources; of requests that are answered well, note the time, and how many are active."""
        name, _, path = ask.path.partition("/")
        broken, manner, _ = BROKEN.get(self.broken.get(name, ""), ("", status(404), 0))
        if path == broken and name in self.broken:
            ask.handler.close_connection = True
            ask.handler.close_connection = True
            manner(ask)
            return
        with self._lock:
            self.times.append(time.monotonic())
            self._active += 1
            self.most = max(self.most, self._active)
        try:
            if name in self.sources:
                ask.path = path
                ask.wait(self.slowness)
                self.sources[name].answer(ask)
            else:
                ask.send(200 if self.robots and name == "robots.txt" else 404, self.robots)
        finally:
            with self._lock:
                self._active -= 1

    @property
    def rate(self) -> float:
        """The requests per second, from the first to the last."""
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])


@dataclass
class Fleet:
    """The hosts, and the Sources by name, each with a few resources of its own."""

    hosts: list[Host]
    sources: dict[str, FakeSource] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def config(self, folder: Path, **defaults: object) -> Path:
        """Write the file for `--config`: the copy of each Source is in the folder of its name."""
        folder.mkdir(exist_ok=True)
        lines = ["[defaults]", *(f"{name} = {json.dumps(value)}" for name, value in defaults.items())]
        for name, source in self.sources.items():
            lines += [f"[sources.{name}]", f'source = "{source.url}rs/capabilitylist.xml"', f'folder = "{name}"']
        file = folder / "sources.toml"
        file.write_text("\n".join(lines), "utf-8")
        return file

    def require_equal(self, folder: Path) -> None:
        """Raise `AssertionError` unless all copies have what their Sources have, but for what is broken."""
        for name, source in self.sources.items():
            expected = dict(source.resources)
            kind = self.broken.get(name)
            if kind is not None:
                path, _, code = BROKEN[kind]
                expected = {} if code == 2 else {each: data for each, data in expected.items() if each != path}
            copied = files_of(folder / name) if (folder / name).exists() else {}
            assert copied == {f"{name}/{path}": data for path, data in expected.items()}, (name, kind)

    def expected(self) -> dict[str, int]:
        """Return the exit status of each Source."""
        return {name: BROKEN[self.broken[name]][2] if name in self.broken else 0 for name in self.sources}


@contextmanager
def fleet(sources: int, hosts: int, *, broken: int = 0, robots: bytes = b"") -> Iterator[Fleet]:
    """Yield so many Sources on so many hosts, in turn; the last are broken, each kind in turn."""
    with ExitStack() as stack:
        found = Fleet([])
        for number in range(hosts):
            site = stack.enter_context(live(status(404), address=f"127.0.1.{number + 1}"))
            site.keep_alive = True
            found.hosts.append(Host(site, robots))
            site.manner = found.hosts[-1].answer
        kinds = list(BROKEN)
        for number in range(sources):
            host, name = found.hosts[number % hosts], f"s{number:03}"
            source = FakeSource(Live(host.answer, url=f"{host.site.url}/{name}"))
            for page in range(3):
                source.put(f"{page}.html", f"<p>{name} {page}")
            source.publish()
            found.sources[name] = host.sources[name] = source
            if number >= sources - broken:
                found.broken[name] = host.broken[name] = kinds[(number - sources + broken) % len(kinds)]
        yield found
