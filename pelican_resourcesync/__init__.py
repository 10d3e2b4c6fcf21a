"""Publish a site over ResourceSync (ANSI/NISO Z39.99), copy one, follow its changes, and check it.

```python
from pelican_resourcesync import ResourceSyncError, check, follow, mirror, publish

publish("public", base_url="https://manual.example")
result = mirror("https://example.org/", "copy", only=["*.pdf"])
for change in follow("https://example.org/", since=None):
    print(change.kind, change.uri, change.cursor)
report = check("public", deep=True)
```

Each function does what the command of its name does, and takes the same options: `--max-size 2GB` is
`max_size=2_000_000_000`, `--rate 2MB` is `rate="2MB"`, and an option that may be repeated is a list. All errors that
are raised on purpose are subclasses of `ResourceSyncError`, and their messages are for people. What is fetched, changed
and deleted is logged by the logger `pelican_resourcesync`, with the level `INFO`.

As a plug-in, Pelican calls `register`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pelican_resourcesync.version import __version__

if TYPE_CHECKING:
    from pelican_resourcesync.checker import CheckError, CheckReport, check
    from pelican_resourcesync.content import Page, read_page
    from pelican_resourcesync.destination import FollowedChange, Mirror, MirrorResult, follow
    from pelican_resourcesync.errors import (
        AbsentError,
        DocumentError,
        HistoryError,
        IncompleteError,
        MirrorError,
        NoHostError,
        NoSourceError,
        PublicationError,
        ResourceSyncError,
        SettingsError,
        SourceError,
        StatusError,
        TransportError,
    )
    from pelican_resourcesync.options import MirrorOptions
    from pelican_resourcesync.publishers.aggregator import Aggregator, mirror
    from pelican_resourcesync.publishers.folder import publish
    from pelican_resourcesync.publishers.static_site import PublishResult
    from pelican_resourcesync.system.signing import SignatureError

__all__ = [
    "AbsentError",
    "Aggregator",
    "CheckError",
    "CheckReport",
    "DocumentError",
    "FollowedChange",
    "HistoryError",
    "IncompleteError",
    "Mirror",
    "MirrorError",
    "MirrorOptions",
    "MirrorResult",
    "NoHostError",
    "NoSourceError",
    "Page",
    "PublicationError",
    "PublishResult",
    "ResourceSyncError",
    "SettingsError",
    "SignatureError",
    "SourceError",
    "StatusError",
    "TransportError",
    "__version__",
    "check",
    "follow",
    "mirror",
    "publish",
    "read_page",
    "register",
]
#: Where these names are, what is quick to import first.
_MODULES = (
    "errors",
    "options",
    "content",
    "system.signing",
    "destination",
    "checker",
    "publishers.aggregator",
    "publishers.static_site",
    "publishers.folder",
)


def register() -> None:
    """Connect the plug-in to Pelican's signals. Pelican calls this; heavy modules are imported only then.

    A Pelican that is too old ends with a line: after any other exception it would build, and publish nothing.
    """
    from pelican_resourcesync.errors import SettingsError
    from pelican_resourcesync.system.extras import require_pelican

    try:
        require_pelican("the plug-in needs Pelican")
    except SettingsError as error:
        message = f"ResourceSync: error: {error}"
        raise SystemExit(message) from error
    from pelican_resourcesync import plugin

    plugin.connect()


if not TYPE_CHECKING:  # with it, any name would have a type

    def __getattr__(name: str) -> Any:
        """Return a name that is imported only when it is needed (PEP 562), because a build of a site needs none."""
        for module in _MODULES if name in __all__ else ():
            found = getattr(import_module(f"pelican_resourcesync.{module}"), name, None)
            if found is not None:
                return found
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
