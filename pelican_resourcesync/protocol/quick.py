"""Write the most common elements of entries without a model; large lists consist mostly of these.

The result is the same as that of a `Renderer` for the same values, and the same values raise `DocumentError`.
"""

from functools import lru_cache

from pelican_resourcesync.protocol.attributes import LINK, METADATA

_INDENT = "    "
_RENDER_LINK = {each.name: each.kind.render for each in LINK}
_RENDER_MD = {each.name: each.kind.render for each in METADATA}

#: Size of the cache: many resources link to the same collections, profiles and the like.
_RECENT = 4_096


@lru_cache(maxsize=_RECENT)
def quick_link(rel: str, href: str, type: str | None = None) -> str:
    """Write a link of an entry (X06)."""
    render = _RENDER_LINK
    typed = "" if type is None else f' type="{render["type"](type)}"'
    return f'{_INDENT}<rs:ln rel="{render["rel"](rel)}" href="{render["href"](href)}"{typed}/>\n'


def quick_md(hash: str | None, length: int | None, type: str | None) -> str:
    """Write the `rs:md` of an entry (X08, X09); `hash` is `algorithm:digest`, both in letters and digits.

    Returns an empty string if nothing is known.
    """
    render = _RENDER_MD
    hashed = "" if hash is None else f' hash="{hash}"'
    sized = "" if length is None else f' length="{render["length"](length)}"'
    typed = "" if type is None else f' type="{render["type"](type)}"'
    return f"{_INDENT}<rs:md{hashed}{sized}{typed}/>\n" if hashed or sized or typed else ""
