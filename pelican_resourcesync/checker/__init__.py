"""Check whether a Source conforms to ResourceSync (ANSI/NISO Z39.99), and report the rules that it breaks.

A Source is a site that publishes ResourceSync documents. `check` returns a `CheckReport`. `RULES` holds the rules as
data: small functions, each with an identifier, level, sentence and source.
`UNCHECKED` holds those that cannot be checked from outside.
"""

from pelican_resourcesync.checker.checker import check
from pelican_resourcesync.checker.rule import UNCHECKED, CheckError, CheckReport, Finding, Level, list_rules
from pelican_resourcesync.checker.rules import RULES

__all__ = [
    "RULES",
    "UNCHECKED",
    "CheckError",
    "CheckReport",
    "Finding",
    "Level",
    "check",
    "list_rules",
]
