"""The conformance checker: whether a Source keeps to ResourceSync (ANSI/NISO Z39.99), and by which rule not.

`check` takes a `Request` and gives a `Report`. `RULES` are the rules as data, each a small function with its
identifier, level, sentence and source; `UNSEEN` are those that no look from outside can tell.
"""

from pelican_resourcesync.check.checker import Request, check
from pelican_resourcesync.check.errors import CheckError
from pelican_resourcesync.check.findings import Finding, Level
from pelican_resourcesync.check.report import Report, list_rules
from pelican_resourcesync.check.rules import RULES
from pelican_resourcesync.check.unseen import UNSEEN

__all__ = ["RULES", "UNSEEN", "CheckError", "Finding", "Level", "Report", "Request", "check", "list_rules"]
