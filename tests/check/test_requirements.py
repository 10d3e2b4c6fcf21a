"""Every rule of the standard is checked, or said not to be seen from outside and why."""

import re

from pelican_resourcesync.check import RULES, UNCHECKED, Level, list_rules
from tests.protocol.support import spec

#: All identifiers, so that none is lost where the table is not at hand.
IDENTIFIERS = {
    f"{chapter}{number:02}"
    for chapter, last in {
        "X": 16, "SD": 6, "CL": 8, "RL": 4, "RD": 7, "CH": 8, "CD": 5, "LN": 7, "AR": 6, "DI": 4, "CN": 4, "DE": 6,
        "EA": 11, "V11": 5,
    }.items()
    for number in range(1, last + 1)
}  # fmt: skip


def test_every_identifier_is_known() -> None:
    """An identifier is of a rule or of the table of those not seen, and never of both."""
    checked = {rule.identifier for rule in RULES}
    assert checked | set(UNCHECKED) == IDENTIFIERS
    assert not checked & set(UNCHECKED)


def test_identifiers_are_those_of_the_table() -> None:
    """The list above is that of the requirements."""
    text = spec("requirements.md").read_text("utf-8")
    assert set(re.findall(r"^\| ([A-Z]+\d+) \|", text, re.MULTILINE)) == IDENTIFIERS


def test_rules_say_what_they_are() -> None:
    """Each rule has a sentence and a source; the list shows all."""
    listed = list_rules(RULES)
    for rule in RULES:
        assert rule.sentence
        assert not rule.sentence.endswith(".")
        assert rule.source
        assert rule.level in Level
        assert f"{rule.identifier:6} {rule.level:7} {rule.sentence} [{rule.source}]" in listed
    for identifier, why in UNCHECKED.items():
        assert f"{identifier:6} -       Not seen from outside: {why}" in listed
