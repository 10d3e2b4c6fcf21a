"""Access rules: what DSpace shows an anonymous visitor. Each rule is a small function that names its number.

What is not known to be public is not public. Rules about rows are conditions in SQL. Rules about days, which not every
database can compare, are evaluated here on the rows read.
"""

from repo_bridge.access.policies import Period, closed, everybody, grants, opened, readable
from repo_bridge.access.rules import discoverable, hidden, live, stored, unsecured, unwanted, wanted
from repo_bridge.access.view import AnonymousView

__all__ = [
    "AnonymousView",
    "Period",
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
