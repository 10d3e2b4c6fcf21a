"""The most that is read of any document, in bytes where nothing else is said; what is larger is refused.

The standard's own limits (X04: 50,000 entries and 50 MB) are those of the writer and of the checker's rules.
"""

MOST_BYTES = 100_000_000
"""Of a whole document."""
MOST_ENTRIES = 200_000
"""Entries of a document."""
LARGEST_ELEMENT = 262_144
"""One entry, or one other child of the root: as much is held in memory, many times over."""
LONGEST_PROLOG = 65_536
"""What comes before the root."""
LONGEST_SHOWN = 80
"""Characters of others that a message shows."""
