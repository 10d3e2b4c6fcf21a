"""Report publications to people, as text with progress, and to programs, as JSON."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.terminal.progress import Progress, spinner
    from pelican_resourcesync.terminal.status import Costs, TargetStatus, look_at, status_blocks
    from pelican_resourcesync.terminal.summary import summaries
    from pelican_resourcesync.terminal.text import (
        UNKNOWN,
        Block,
        as_json,
        format_bytes,
        format_count,
        render_blocks,
    )
else:
    __getattr__ = names_from(
        __name__,
        {
            "progress": "Progress spinner",
            "status": "Costs TargetStatus look_at status_blocks",
            "summary": "summaries",
            "text": "UNKNOWN Block as_json format_bytes format_count render_blocks",
        },
    )

__all__ = [
    "UNKNOWN",
    "Block",
    "Costs",
    "Progress",
    "TargetStatus",
    "as_json",
    "format_bytes",
    "format_count",
    "look_at",
    "render_blocks",
    "spinner",
    "status_blocks",
    "summaries",
]
