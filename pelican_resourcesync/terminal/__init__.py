"""Report publications to people, as text with progress, and to programs, as JSON."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.terminal.progress import Progress, spinner
    from pelican_resourcesync.terminal.sections import Section, write_sections
    from pelican_resourcesync.terminal.summary import summaries
    from pelican_resourcesync.terminal.text import as_json, format_bytes, format_count
else:
    __getattr__ = names_from(
        __name__,
        {
            "progress": "Progress spinner",
            "sections": "Section write_sections",
            "summary": "summaries",
            "text": "as_json format_bytes format_count",
        },
    )

__all__ = ["Progress", "Section", "as_json", "format_bytes", "format_count", "spinner", "summaries", "write_sections"]
