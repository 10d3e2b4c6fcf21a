"""The pages for people, and the overview of a set that they show."""

from pelican_resourcesync.publication.pages.overview import (
    DOCUMENTS,
    Amount,
    Overview,
    mirror_command,
    overview_of,
    overview_of_stage,
)
from pelican_resourcesync.publication.pages.pages import PageSet, write_pages

__all__ = [
    "DOCUMENTS",
    "Amount",
    "Overview",
    "PageSet",
    "mirror_command",
    "overview_of",
    "overview_of_stage",
    "write_pages",
]
