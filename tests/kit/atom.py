"""Whether a feed is valid Atom, by the grammar of RFC 4287."""

from functools import cache
from pathlib import Path

from lxml import etree

ATOM = "{http://www.w3.org/2005/Atom}"


def feed_faults(data: bytes) -> list[str]:
    """Return what is wrong with a feed, by the grammar, and by what it cannot say: each `id` is there once (4.2.6)."""
    root = etree.fromstring(data)
    grammar = _grammar()
    grammar.validate(root)
    ids = [each.text for each in root.iter(f"{ATOM}id")]
    return [*(error.message for error in grammar.error_log), *(f"{each} twice" for each in ids if ids.count(each) > 1)]


@cache
def _grammar() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(Path(__file__).parent.parent / "data/atom.rng"))
