"""A Source whose changes are pushed, and a command that listens to its hub."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Thread, main_thread
from urllib.parse import urlencode

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination.listening import Listener
from tests.kit.hub import Hub, call
from tests.kit.live import closed_port, live
from tests.kit.sources import BEGIN, CAPABILITIES, FakeSource, document, entry, files_of, living, stamp

TOPIC = "rs/notification.xml"


@dataclass
class PushedSource(FakeSource):
    """A Source with a hub, whose URL is `hub_url`; its topic is the last notification."""

    hub: Hub = field(default_factory=Hub)
    hub_url: str = ""
    reached: datetime = BEGIN

    @property
    def topic(self) -> str:
        """The URL of the topic."""
        return f"{self.url}{TOPIC}"

    def publish(self) -> None:
        """Let the host serve what there is now, with the notification of what changed since the last time."""
        super().publish()
        if self.hub_url:
            hub = f'<rs:ln rel="hub" href="{self.hub_url}"/>'
            self.add(CAPABILITIES, self.entry(TOPIC, {"capability": "change-notification"}, links=hub))
        new = [each for each in self.changes if self.reached < each[0]]
        changes = "".join(entry(self.url + path, {"change": kind}, stamp(when)) for when, path, kind, _ in new)
        md = {"capability": "change-notification", "from": stamp(self.reached), "until": stamp(self.now)}
        self.published[TOPIC] = document("urlset", md, changes, up=self.url + CAPABILITIES)
        self.reached = self.now

    def change(self, *, number: int = 10) -> None:
        """Publish changes of some files, and of one that is new each second time and deleted each other time."""
        for each in range(number - 1):
            self.put(f"{each}.html", f"{each} at {self.now}")
        if "other.html" in self.resources:
            self.delete("other.html")
        else:
            self.put("other.html", "other")
        self.publish()

    def ping(self) -> None:
        """Tell the hub, as `announce` does."""
        form = urlencode({"hub.mode": "publish", "hub.url": self.topic}).encode()
        call(self.hub_url, form, {"Content-Type": "application/x-www-form-urlencoded"})

    def runs(self) -> int:
        """Return how often the Source was read."""
        return self.site.times["rs/capabilitylist.xml"]


@contextmanager
def pushed() -> Iterator[PushedSource]:
    """Yield a Source with a hub, published once."""
    with living(PushedSource, {"a.html": "a"}) as source, live(source.hub) as hub:
        source.hub_url = f"{hub.url}/hub"
        source.publish()
        yield source


def listen(script: Callable[[], object], *arguments: object, every: str = "1h", private: bool = True) -> int:
    """Run a command with --listen until a script has ended, which runs beside it; return its exit status."""
    port, failures = closed_port(), list[BaseException]()

    def beside() -> None:
        try:
            script()
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)
        finally:
            with suppress(AssertionError):  # it never waits again: it is stuck, or has ended
                wait(_waiting, 5)  # an interrupt while a folder is removed leaves its iterator open, which warns
            os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=beside, daemon=True)
    thread.start()
    words = [*arguments, "--listen", f":{port}", "--callback", f"http://127.0.0.1:{port}/hooks/"]
    try:
        code = main([*map(str, words), *["--allow-private"] * private, "--every", every, "--retries", "0"])
        thread.join()
    except KeyboardInterrupt:  # the command had ended before the script
        code = -1
    if failures:
        raise failures[0]
    return code


def _waiting() -> bool:
    """Return whether the command in the main thread waits for the call of a hub."""
    frame = sys._current_frames().get(main_thread().ident or 0)
    while frame and frame.f_code is not Listener.wait.__code__:
        frame = frame.f_back
    return frame is not None


def wait(done: Callable[[], object], seconds: float = 20) -> float:
    """Wait until something is true; return how long it took."""
    begin = time.monotonic()
    while not done():
        assert time.monotonic() - begin < seconds, done
        time.sleep(0.003)
    return time.monotonic() - begin


def equal(source: FakeSource, folder: Path) -> Callable[[], bool]:
    """Return whether a copy has what is published now; a file that is being replaced is not equal."""

    def compare() -> bool:
        try:
            return files_of(folder) == source.states[-1]
        except FileNotFoundError:
            return False

    return compare
