"""Access rules: what DSpace shows an anonymous visitor. Each rule is a small function that names its number.

What is not known to be public is not public. Rules about rows are conditions in SQL. Rules about days, which not every
database can compare, are evaluated here on the rows read.
"""

from repo_bridge.discretion.bitstreams import stored, unwanted, wanted
from repo_bridge.discretion.items import discoverable, live
from repo_bridge.discretion.metadata import hidden, unsecured
from repo_bridge.discretion.policies import Period, closed, everybody, grants, opened, readable
from repo_bridge.discretion.view import View

__all__ = [
    "Period",
    "View",
    "closed",
    "discoverable",
    "everybody",
    "grants",
    "hidden",
    "live",
    "opened",
    "readable",
    "stored",
    "unsecured",
    "unwanted",
    "wanted",
]
