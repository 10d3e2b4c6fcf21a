"""Report publications to people, as text with progress, and to programs, as JSON."""

from pelican_resourcesync.terminal.progress import Progress, spinner
from pelican_resourcesync.terminal.text import (
    Section,
    answer,
    duration,
    expectations,
    format_bytes,
    format_count,
    past_of,
    read_answer,
    summaries,
    write_sections,
)

__all__ = [
    "Progress",
    "Section",
    "answer",
    "duration",
    "expectations",
    "format_bytes",
    "format_count",
    "past_of",
    "read_answer",
    "spinner",
    "summaries",
    "write_sections",
]
