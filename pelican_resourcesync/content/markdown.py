"""The main region of a page as Markdown, for programs that index or translate it."""

from urllib.parse import urljoin

from lxml import etree

from pelican_resourcesync.content.regions import regions
from pelican_resourcesync.content.rules import SECTIONS, is_left_out
from pelican_resourcesync.system.extras import extra


def to_markdown(root: etree._Element, uri: str) -> str:
    """Return the content of a page as Markdown, with absolute links; the tree is changed.

    Raises `SettingsError` without the extra `text`.
    """
    with extra("text", "Markdown needs an extra"):
        from markdownify import markdownify

    for region in regions(root, uri):
        for element in region:
            _leave_out(element, uri, inside=element is not root)
        markup = "".join(etree.tostring(part, encoding="unicode", method="html", with_tail=False) for part in region)
        if text := str(markdownify(markup, heading_style="ATX", bullets="-")).strip():
            return text
    return ""


def _leave_out(element: etree._Element, uri: str, *, inside: bool) -> None:
    """Empty the elements that are around the content, and make links absolute."""
    for child in element:
        if is_left_out(child, element.tag, inside=inside):
            child.clear(keep_tail=True)  # type: ignore[call-arg]
            child.tag = "span"
            continue
        for name in {"href", "src"} & set(child.keys()):
            child.set(name, _absolute(uri, child.get(name) or ""))
        _leave_out(child, uri, inside=inside or child.tag in SECTIONS)


def _absolute(uri: str, url: str) -> str:
    try:
        return urljoin(uri, url)
    except ValueError:
        return url
