"""Check whether a Source conforms to ResourceSync (ANSI/NISO Z39.99), and report the rules that it breaks.

A Source is a site that publishes ResourceSync documents. `check` takes a `Request` and returns a `Report`. `RULES`
holds the rules as data: small functions, each with an identifier, level, sentence and source. `UNSEEN` holds the rules
that cannot be checked from outside.
"""

from pelican_resourcesync.check.checker import Request, check
from pelican_resourcesync.check.command import run_command
from pelican_resourcesync.check.errors import CheckError
from pelican_resourcesync.check.findings import Finding, Level
from pelican_resourcesync.check.report import Report, list_rules
from pelican_resourcesync.check.rules import RULES
from pelican_resourcesync.check.unseen import UNSEEN

__all__ = [
    "RULES",
    "UNSEEN",
    "CheckError",
    "Finding",
    "Level",
    "Report",
    "Request",
    "check",
    "list_rules",
    "run_command",
]
