"""The rules that cannot be checked from outside, and why."""

_TWO = "it takes two visits, at different times"
_OTHER = "it is of what a Destination does, not of what a Source publishes"
_EARLY = "it is of an early draft: what became of it has a rule of its own"

UNSEEN: dict[str, str] = {
    "X16": f"whether a closed document was changed: {_TWO}; what its index says of it is CH07's",
    "CH08": f"{_OTHER}; the links that it follows are X13's",
    "V1102": "it allows, and forbids nothing: CH02, CH03 and CH06 keep to it",
    "V1103": "it is how this project writes: either edition's readers are served by what V1101 and CH02 ask",
    "LN06": "whether a resource belongs to a collection is not in the documents; the link's form is X06's",
    "CN02": "it is said to the hub, and to nobody else",
    "CN03": "it is answered where a hub asks; the topic's entry in the Capability List is CN04's",
    "DE01": _OTHER,
    "DE02": _OTHER,
    "DE03": _OTHER,
    "DE04": _OTHER,
    "DE05": _OTHER,
    "DE06": _OTHER,
} | {f"EA{number:02}": _EARLY for number in range(1, 12)}
"""The identifier of each rule that no function checks, and the reason."""
