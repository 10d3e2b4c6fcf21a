"""What an anonymous visitor may see: the rules of DSpace, each a small function that names its rule.

Whatever is not known to be public is not. Rules about rows are conditions for the database; rules about days, which not
every database can compare, are judged here, on what it gives.
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
