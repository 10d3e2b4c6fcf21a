"""Check whether a Source conforms to ResourceSync (ANSI/NISO Z39.99), and report the rules that it breaks.

A Source is a site that publishes ResourceSync documents. `check` takes a `Request` and returns a `Report`. `RULES`
holds the rules as data: small functions, each with an identifier, level, sentence and source. `UNCHECKED` holds those
that cannot be checked from outside.
"""

from pelican_resourcesync.check.checker import Request, check
from pelican_resourcesync.check.report import CheckError, Report, list_rules
from pelican_resourcesync.check.rule import UNCHECKED, Finding, Level
from pelican_resourcesync.check.rules import RULES

__all__ = [
    "RULES",
    "UNCHECKED",
    "CheckError",
    "Finding",
    "Level",
    "Report",
    "Request",
    "check",
    "list_rules",
]
