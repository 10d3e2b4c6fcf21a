"""Run the rules that involve several documents, after all documents were visited."""

from pelican_resourcesync.check.rules import RULES
from pelican_resourcesync.check.snapshots import pairs
from pelican_resourcesync.check.sums import Sums
from pelican_resourcesync.check.walk import Walk


def ask_neighbours(walk: Walk) -> None:
    """Run the rules about two documents of which one names the other."""
    rules = [rule for rule in RULES if rule.scope == "edge"]
    for edge in walk.edges:
        for rule in rules:
            message = rule.check(edge, walk)
            if message is not None:
                entry = edge.item.loc if edge.item else ""
                walk.findings.add(rule.finding(edge.parent.uri, edge.line, message, entry))


def ask_source(walk: Walk) -> None:
    """Run the rules about all documents together, and those about snapshots and the changes between them."""
    for rule in RULES:
        if rule.scope == "source":
            for document, line, message in rule.check(walk):
                walk.findings.add(rule.finding(document, line, message))
    sums = Sums(walk.ledger)
    for pair in pairs(walk):
        sums.begin(pair)
        for rule in RULES:
            if rule.scope == "pair":
                for number, line, message in rule.check(sums):
                    walk.findings.add(rule.finding(walk.name(number), line, message))
