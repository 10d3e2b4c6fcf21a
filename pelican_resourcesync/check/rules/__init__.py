"""The rules of the standard as data, one module per chapter."""

from pelican_resourcesync.check.rule import Rule
from pelican_resourcesync.check.rules import (
    archives,
    changes,
    deep,
    discovery,
    dumps,
    every,
    links,
    neighbours,
    packages,
    resources,
    source,
    sums,
    xml,
)

RULES: tuple[Rule, ...] = tuple(
    rule
    for module in (
        xml,
        every,
        source,
        resources,
        dumps,
        changes,
        links,
        archives,
        neighbours,
        sums,
        packages,
        deep,
        discovery,
    )
    for rule in module.BOOK
)
"""All rules, each with the function that checks it."""
