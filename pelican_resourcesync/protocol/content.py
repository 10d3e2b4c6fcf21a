"""What entries say about the content of pages, by two attributes of our own at the end of their `rs:md` (X03).

`c:hash` is the hash of what a page says (`content.content_hash`), and empty for one that is not for people. An entry
with `c:modified` describes a page whose content is older than its bytes: with that change, only what is around the
content changed. Its value is the time of the last change of the content, and empty if that is not known.
"""

from pelican_resourcesync.protocol.model import CONTENT_HASH, CONTENT_MODIFIED, CONTENT_NS, ChangeKind, Metadata

#: The prefix of the attributes, which the root of a document declares.
CONTENT_PREFIXES = (("c", CONTENT_NS),)
_HASH, _MODIFIED, _END = ' c:hash="', ' c:modified="', "/>\n"
_NO_MD = "    <rs:md/>\n"


def split_content(md: str) -> tuple[str, str]:
    """Return the `rs:md` of an entry without what it says about the content, and that."""
    own, mark, content = md.partition(_HASH)
    if not mark:
        return md, ""
    return own + _END if own + _END != _NO_MD else "", mark + content.removesuffix(_END)


def with_content(md: str, content: str) -> str:
    """Return an `rs:md`, which may be empty, with what it says about the content."""
    return f"{(md or _NO_MD).removesuffix(_END)}{content}{_END}" if content else md


def render_content(hash: str, modified: str | None) -> str:
    """Return what an entry says about the content; `modified` is `None` if that changed with the bytes."""
    return f'{_HASH}{hash}"' + ("" if modified is None else f'{_MODIFIED}{modified}"')


def hash_of_content(md: str) -> str | None:
    """Return the hash in an `rs:md`, or in what that says about the content; `None` if there is none."""
    _, mark, rest = md.partition(_HASH)
    return rest.partition('"')[0] if mark else None


def is_news(kind: str, md: str) -> bool:
    """Return whether a change is news for people: the content of a page changed, or anything that is no page.

    A page that is no longer for people is news, as one that is deleted.
    """
    return _MODIFIED not in md and (kind != ChangeKind.CREATED or is_for_people(md))


def tells_news(md: Metadata) -> bool:
    """Return whether the metadata of a change that was read is news for people (see `is_news`)."""
    said = dict(md.attributes)
    return CONTENT_MODIFIED not in said and (md.change != ChangeKind.CREATED or said.get(CONTENT_HASH) != "")


def is_for_people(md: str) -> bool:
    """Return whether the content of a page is for people; what is not known of others is assumed."""
    return hash_of_content(md) != ""


def content_time(md: str, lastmod: str) -> str:
    """Return the time of the last change of the content; of anything but a page, that of its bytes."""
    _, mark, rest = md.partition(_MODIFIED)
    return rest.partition('"')[0] if mark else lastmod
