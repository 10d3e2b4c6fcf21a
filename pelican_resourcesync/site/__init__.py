"""What Pelican built, from which sources, and their history in git.

Together with `plugin`, this is the only package that knows both Pelican and git. It passes to `publication` the
resources of the site, the changes found in the history, and the times at which they landed.
"""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.site.backfill import BackfillOptions, BackfillSummary, run_backfill
    from pelican_resourcesync.site.configuration import Configuration, options_of, read_configuration
    from pelican_resourcesync.site.forecast import Forecast, NewCommits, forecast_build
    from pelican_resourcesync.site.session import Session
    from pelican_resourcesync.site.takedown import Takedown, forget_in_folder, forget_in_site
else:
    __getattr__ = names_from(
        __name__,
        {
            "configuration": "Configuration options_of read_configuration",
            "forecast": "Forecast NewCommits forecast_build",
            "session": "Session",
            "takedown": "Takedown forget_in_folder forget_in_site",
            "backfill": "BackfillOptions BackfillSummary run_backfill",
        },
    )

__all__ = [
    "BackfillOptions",
    "BackfillSummary",
    "Configuration",
    "Forecast",
    "NewCommits",
    "Session",
    "Takedown",
    "forecast_build",
    "forget_in_folder",
    "forget_in_site",
    "options_of",
    "read_configuration",
    "run_backfill",
]
