"""Numbers with units, as options have them."""

import re
from argparse import ArgumentTypeError

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def count(text: str) -> int:
    """Return a number of things, at least 1. Raises `ValueError`, as does the next."""
    found = int(text)
    if found < 1:
        raise ValueError
    return found


def number(text: str) -> int:
    """Return a number of things, which may be 0."""
    return count(text) if text != "0" else 0


def size(text: str) -> int:
    """Return a number of bytes, from text like `2MB`. Raises `ArgumentTypeError`, as do the others."""
    return int(_number(text.lower().removesuffix("b"), _UNITS))


def seconds(text: str) -> float:
    """Return a number of seconds, from text like `10m`."""
    return _number(text, _TIMES)


def rate(text: str) -> tuple[float, float]:
    """Return requests per second, and bytes per second, of which one is 0."""
    plain = text.lower().removesuffix("/s")
    if plain.endswith("b") or plain[-1:] in "kmg":
        return 0.0, _number(plain.removesuffix("b"), _UNITS)
    return _number(plain, {"": 1}), 0.0


def _number(text: str, units: dict[str, int]) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]?)", text.strip())
    if not found or found[2] not in units or not float(found[1]):
        message = f"{text!a} is not a number with one of the units {', '.join(filter(None, units)) or 'none'}"
        raise ArgumentTypeError(message)
    return float(found[1]) * units[found[2]]
