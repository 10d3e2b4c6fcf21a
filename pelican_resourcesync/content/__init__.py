"""The content of an HTML page: what people read of it, and a hash that changes only when that does.

The function judges one page alone. It is documented for owners of sites in `docs/content.md`.
"""

from pelican_resourcesync.content.dates import Stamps, content_dates, read_dates
from pelican_resourcesync.content.page import (
    VERSION,
    FrontPage,
    Page,
    changed_words,
    content_hash,
    read_front_page,
    read_page,
    read_target,
    read_title,
)

__all__ = [
    "VERSION",
    "FrontPage",
    "Page",
    "Stamps",
    "changed_words",
    "content_dates",
    "content_hash",
    "read_dates",
    "read_front_page",
    "read_page",
    "read_target",
    "read_title",
]
