"""JSON from outside, parsed within limits: whatever is wrong with it is one error."""

import json
import math
import re
from collections.abc import Callable
from itertools import chain
from typing import Any, NoReturn, TypeVar

from pelican_resourcesync.errors import DocumentError

_Value = TypeVar("_Value")

_LARGEST = 256_000_000  # bytes or characters
_DEEPEST = 32  # lists and objects inside each other
_TOO_DEEP = f"it has more than {_DEEPEST} levels of nested lists and objects"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_json(data: bytes | str, build: Callable[[Any], _Value]) -> _Value:
    """Return what `build` makes of the value in a JSON text of others.

    `build` may take the value's shape for granted. Raises `ValueError`, with the reason, if that is wrong: if `build`
    misses something or finds another type, or raises `ValueError` or `DocumentError`. Also for what readers could
    understand differently: names that are repeated, numbers that are not finite, characters that no text can hold.
    """
    try:
        return build(_parsed(data.encode() if isinstance(data, str) else data))
    except KeyError as error:
        message = f"{error} is missing"
        raise ValueError(message) from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except (TypeError, AttributeError, LookupError, ArithmeticError, DocumentError) as error:
        raise ValueError(str(error)) from error


def _parsed(data: bytes) -> Any:
    if len(data) > _LARGEST:
        message = f"it has more than {_LARGEST:,} bytes"
        raise ValueError(message)
    value = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_float)
    if _SURROGATE.search(data):
        json.dumps(value, ensure_ascii=False).encode()  # raises `UnicodeEncodeError` for half of a pair
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        level = [*chain.from_iterable(value.values() if isinstance(value, dict) else value for value in level if value)]
        level = [value for value in level if isinstance(value, dict | list)]
    if level:
        raise ValueError(_TOO_DEEP)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        message = "a name occurs twice in an object"
        raise ValueError(message)
    return content


def _float(text: str) -> float:
    return number if math.isfinite(number := float(text)) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    message = f"{text[:20]} is not a finite number"
    raise ValueError(message)
