"""Limits for reading any document, in bytes unless stated otherwise; anything larger is refused.

The limits of the standard (X04: 50,000 entries and 50 MB) apply to the writer and to the checker's rules.
"""

MOST_BYTES = 100_000_000
"""The size of a whole document."""
MOST_ENTRIES = 200_000
"""The number of entries in a document."""
LARGEST_ELEMENT = 262_144
"""The size of one entry, or of one other child of the root, which takes many times as much memory."""
LONGEST_PROLOG = 65_536
"""The size of what comes before the root."""
LONGEST_SHOWN = 80
"""The number of characters of untrusted text that a message shows."""
