"""The commonest elements of entries, written without a model: what a list of many resources is mostly made of.

They are what a `Renderer` makes of the same values, and raise `DocumentError` for what it refuses.
"""

from functools import lru_cache

from pelican_resourcesync.protocol.attributes import LINK, METADATA

_INDENT = "    "
_RENDER_LINK = {each.name: each.kind.render for each in LINK}
_RENDER_MD = {each.name: each.kind.render for each in METADATA}

#: Collections, profiles and the like are many resources' links.
_RECENT = 4_096


@lru_cache(maxsize=_RECENT)
def quick_link(rel: str, href: str, type: str | None = None) -> str:
    """Write a link of an entry (X06)."""
    render = _RENDER_LINK
    typed = "" if type is None else f' type="{render["type"](type)}"'
    return f'{_INDENT}<rs:ln rel="{render["rel"](rel)}" href="{render["href"](href)}"{typed}/>\n'


def quick_md(hash: str | None, length: int | None, type: str | None) -> str:
    """Write what an entry says of bytes (X08, X09): `hash` is `algorithm:digest`, both in letters and digits.

    An empty text where nothing is known.
    """
    render = _RENDER_MD
    hashed = "" if hash is None else f' hash="{hash}"'
    sized = "" if length is None else f' length="{render["length"](length)}"'
    typed = "" if type is None else f' type="{render["type"](type)}"'
    return f"{_INDENT}<rs:md{hashed}{sized}{typed}/>\n" if hashed or sized or typed else ""
