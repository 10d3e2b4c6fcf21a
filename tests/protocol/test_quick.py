"""The commonest elements, written without a model, are what the renderer makes of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Hash, Link, Metadata, Renderer, Root, render_link, render_metadata

RENDERER = Renderer(Root.URLSET, edition=2017)

_texts = st.text(st.sampled_from("a/&<>\"' \t\n\r;=\u00e4\x00\ud800"), max_size=6)
_hrefs = st.one_of(_texts, _texts.map("https://example.org/{}".format))
_lengths = st.none() | st.integers(-1, 10**19)


def outcome(write: object) -> str:
    """Give what is written, or that it is refused."""
    try:
        return str(write() if callable(write) else write)
    except DocumentError:
        return "refused"


@given(_texts, _hrefs, st.none() | _texts)
def test_a_link(rel: str, href: str, type: str | None) -> None:
    """LN: the same text as from a `Link`, and the same refusals."""
    links = (Link(rel=rel, href=href, type=type),)
    assert outcome(lambda: render_link(rel, href, type)) == outcome(lambda: RENDERER.entry_links(links))


@given(st.none() | st.text("0123456789abcdef", min_size=1), _lengths, st.none() | _texts)
def test_what_is_said_of_bytes(digest: str | None, length: int | None, type: str | None) -> None:
    """X08, X09: the same text as from `Metadata`, and nothing where nothing is known."""
    hashes = (Hash(algorithm="md5", digest=digest),) if digest else ()
    said = outcome(lambda: render_metadata(f"md5:{digest}" if digest else None, length, type))
    if not hashes and length is None and type is None:
        assert said == ""
    else:
        assert said == outcome(lambda: RENDERER.entry_md(Metadata(hash=hashes, length=length, type=type)))


def test_by_hand() -> None:
    """What stands in a document."""
    assert render_link("describedby", "https://example.org/?a&b", "application/xml") == (
        '    <rs:ln rel="describedby" href="https://example.org/?a&amp;b" type="application/xml"/>\n'
    )
    assert render_metadata("md5:00", 3, "text/plain") == '    <rs:md hash="md5:00" length="3" type="text/plain"/>\n'
    with pytest.raises(DocumentError):
        render_link("describedby", "relative")
