"""Report publications to people, as text with progress, and to programs, as JSON."""

from pelican_resourcesync.terminal.progress import Progress, spinner
from pelican_resourcesync.terminal.sections import Section, write_sections
from pelican_resourcesync.terminal.text import (
    as_json,
    duration,
    expectations,
    format_bytes,
    format_count,
    past_of,
    summaries,
)

__all__ = [
    "Progress",
    "Section",
    "as_json",
    "duration",
    "expectations",
    "format_bytes",
    "format_count",
    "past_of",
    "spinner",
    "summaries",
    "write_sections",
]
