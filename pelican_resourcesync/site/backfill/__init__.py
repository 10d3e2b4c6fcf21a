"""Backfill: past commits of the site, built one by one with today's tools, and published with their real bytes.

Names are imported lazily, because each build of a past commit imports this package too.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pelican_resourcesync.site.backfill.history import built_history
    from pelican_resourcesync.site.backfill.run import BackfillOptions, Outcome, backfill

__all__ = ["BackfillOptions", "Outcome", "backfill", "built_history"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{'history' if name == 'built_history' else 'run'}"), name)
