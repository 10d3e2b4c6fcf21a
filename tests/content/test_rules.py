"""What changes the content hash of a page, and what does not: a line for each rule."""

from pathlib import Path

import pytest

from pelican_resourcesync.content import VERSION, content_hash, read_page, read_title

URI = "https://site.example/p/"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ice - Site 1.2</title>
<link rel="stylesheet" href="/a.3f2a1b9c.css"><script nonce="a">x = 1</script>
<script type="application/ld+json">{"@type": "Article", "headline": "Ice", "dateModified": "2026-01-01",
"publisher": {"@type": "Organization", "name": "One"}}</script></head>
<body><header><a href="/">Site</a></header><nav><a href="/q/">Q</a></nav><main><article>
<h1 id="ice">Ice<a class="headerlink" href="#ice">\u00b6</a></h1>
<p>Some <b>old</b> text, caf\u00e9. <a href="/other/#a">Other</a> <img src="/i/pic.3f2a1b9c.png" alt="A view"></p>
<pre><span class="linenos">1</span><span class="k">def</span> f():
    pass
</pre><aside class="admonition note"><p>A note</p></aside><p class="reading-time">3 minutes</p>
<footer>Tags</footer></article><div class="post-pagination"><a rel="next" href="/r/">R</a></div></main>
<aside><a href="/new/">New</a></aside><footer>2026</footer></body></html>"""


def hash_of(page: str | bytes, uri: str = URI) -> str:
    """Return the content hash of a page."""
    return content_hash(page if isinstance(page, bytes) else page.encode(), uri)


def changed(old: str, new: str) -> str:
    """Return the page with a change."""
    assert old in PAGE
    return PAGE.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026</footer>", "2027</footer>"),
        ('href="/q/">Q', 'href="/n/">N'),
        ('href="/new/">New', 'href="/newer/">Newer'),
        ('href="/r/">R', 'href="/s/">S'),
        ("3 minutes", "4 minutes"),
        ("Tags", "Other tags"),
        ("Site 1.2", "Site 1.3"),
        ('nonce="a"', 'nonce="b"'),
        ("a.3f2a1b9c.css", "a.99aa1b9c.css"),
        ("pic.3f2a1b9c.png", "pic.99aa1b9c.png?v=2"),
        ('"dateModified": "2026-01-01"', '"datePublished": "2026-01-02"'),
        ('"name": "One"', '"name": "Two"'),
        ("ice", "ice-1"),
        ("\u00b6", "#"),
        ('<span class="k">def</span>', "<b>def</b>"),
        ('<span class="linenos">1</span>', ""),
        ("<article>", '<article class="v9">'),
        ("<p>Some", "<!-- built --><svg><title>x</title></svg><p>Some"),
        ("<p>Some", '<span aria-hidden="true">icon</span><p>Some'),
        ("<p>Some", "<p>So\u00adme"),
        ("caf\u00e9", "cafe\u0301"),
        ("caf\u00e9", "caf&eacute;"),
        ("Some <b>", "Some\n  &#32;<b>"),
        ("</p>", ""),
        ("/other/#a", "https://site.example/other/index.html#a"),
        ("/other/#a", "/other/?utm_source=x#a"),
        ("</article>", "<form><input value=token><button>Go</button></form></article>"),
        ("\n", "\r\n"),
        ("<p>Some", '<p data-nosnippet>x</p><p data-pagefind-ignore>y</p><p data-resourcesync-ignore="">z</p><p>Some'),
        ("<p>Some", '<p class="md-source-file">x</p><ul class="theme__breadcrumbs"><li>y</ul><p>Some'),
        ("<p>Some", '<div class="lastUpdated_x1">x</div><div class="print:hidden">y</div><p>Some'),
        ("<p>Some", '<div><a href="/a">\u2039 Previous</a> <a href="/b"><b>Next</b> post</a></div><p>Some'),
        (
            "<p>Some",
            '<div><h3>All</h3><ul><li><a href="/a">A</a><li><a href="/b">B</a><li><a href="./">C</a></ul></div><p>Some',
        ),
        ("Site 1.2", "Site 1.2-3-gabcdef1"),
        ("<article>", '<div><a href="/">Name of the site</a></div><article>'),
        ("<p>Some <b>old</b> text, ", "<div>Some <b>old</b></div><p>text, "),
    ],
)
def test_around(old: str, new: str) -> None:
    """Changes around the content, and of its markup, leave the hash as it is."""
    assert hash_of(changed(old, new)) == hash_of(PAGE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("old", "new"),
        ("Ice<a", "Snow<a"),
        ("<title>Ice", "<title>Snow"),
        ("/other/#a", "/another/#a"),
        ("/other/#a", "/other/#b"),
        ("/other/#a", "https://other.example/other/#a"),
        ("pic.", "photo."),
        ("A view", "A photo"),
        ("A note", "A warning"),
        ("f()", "g()"),
        ("    pass", "  pass"),
        ('"headline": "Ice"', '"headline": "Snow"'),
        ("</article>", "<p>More</p></article>"),
        ("</article>", '<ul><li><input type="checkbox" disabled></ul></article>'),
        ("</article>", '<iframe src="https://video.example/1"></iframe></article>'),
        ("</article>", "<blockquote><footer>Author</footer></blockquote></article>"),
        ("</article>", "<h2><button>Question</button></h2></article>"),
        ("</article>", '<button role="tab">Linux</button></article>'),
        ("</article>", '<div class="layout-with-pagination">Words</div></article>'),
        ("</article>", '<div class="toc"><h1>Words</h1></div></article>'),
        ("</article>", '<div aria-hidden="true">A tab</div></article>'),
        ("</article>", '<h2><a class="toc" href="#x">A heading</a></h2></article>'),
        ("</article>", '<div id="comments" class="section">A section on comments</div></article>'),
        ("</article>", '<ul><li><a href="/a">A</a><li><a href="/b">B</a><li><a href="/c">C</a></ul></article>'),
        (
            "</article>",
            '<ul><li><a href="/a">A</a><li><a href="/b">B</a>, written<li><a href="/p/">C</a></ul></article>',
        ),
        ("</article>", '<ul><li><p>A <a href="/a">A</a><li><a href="/b">B</a><li><a href="/p/">C</a></ul></article>'),
        ("</article>", '<p>See the <a href="/">front page</a></article>'),
        ("</article>", '<p><time datetime="2026-05-05">5 May</time></p></article>'),
    ],
)
def test_inside(old: str, new: str) -> None:
    """Changes of the content change the hash."""
    assert hash_of(changed(old, new)) != hash_of(PAGE)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<main>A</main><article>B</article><p>C", "A"),
        ("<div role=main>A</div><article>B</article>", "A"),
        ("<main><nav>A</nav></main><article>B</article>", "B"),
        ("<article>A<article>B</article></article>C<article>D</article><footer><article>E</article></footer>", "A B D"),
        ("<aside><article>A</article></aside><aside><article><h1>B</h1></article></aside>", "B"),
        ("<main>A</main><div data-pagefind-body>B</div><div data-pagefind-body>C</div>", "B C"),
        ("<div itemprop=articleBody>A</div><p>B", "A"),
        ("<div id=content>A<div class=post>B</div></div><p>C", "A B"),
        ("<nav>A</nav><header>B</header><p>C</p><aside>D</aside><section><header>E</header></section>", "C E"),
        ("<frameset><frame src=/a/></frameset>", ""),
        ("plain", "plain"),
    ],
)
def test_regions(body: str, text: str) -> None:
    """The first region with text is the content."""
    assert " ".join(read_page(body.encode(), URI).blocks) == text


@pytest.mark.parametrize(
    ("title", "heading", "shown", "same"),
    [
        ("Ice - Site", "Ice", "Ice", "Ice | Other site"),
        ("Site | Ice", "Ice", "Ice", "Ice"),
        ("Ice - Site", "Snow", "Ice - Site", "Ice - Other"),
        ("Icebergs - Site", "Ice", "Icebergs - Site", "Icebergs - Other"),
        ("A - B", "A - B", "A - B", "A - B - Site"),
        ("Ice", "", "Ice", "Ice - Site"),
        ("", "Ice", "Ice", "Ice - Site"),
        ("", "", "", ""),
        ("Site 1.2 - Ice", "</h1><h2>Ice</h2><h2>More", "Ice", "Ice"),
    ],
)
def test_titles(title: str, heading: str, shown: str, same: str) -> None:
    """A title is the heading where it repeats it; the name of the site does not count."""
    page, other = (f"<title>{text}</title><main><h1>{heading}</h1>text</main>" for text in (title, same))
    assert read_page(page.encode(), URI).title == shown
    assert hash_of(page) == hash_of(other)


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("", '<meta name="robots" content="noindex">'),
        ("", '<META content="none, noarchive" NAME="ROBOTS">'),
        ("", '<meta http-equiv="refresh" content="0; url=/q/">'),
        ("", "<meta http-equiv=Refresh content=\"1;URL='https://other.example/p/'\">"),
        ("", '<meta http-equiv="refresh" content="0; https://site.example/q/">'),
        ("", '<link rel="canonical" href="/q/">'),
        ("", '<link rel="canonical" href="https://other.example/q/">'),
        ("404.html", ""),
        ("fr/404.html", ""),
        ("404/", "<title>404</title><h1>404"),
        ("en/50x.html", ""),
        ("google0a1b2c3d4e5f6789.html", ""),
        ("yandex_0a1b2c3d4e5f6789.html", ""),
    ],
)
def test_pages_that_nobody_should_find(path: str, head: str) -> None:
    """They have no content hash."""
    page = read_page(f"{head}<p>text".encode(), f"{URI}{path}")
    assert not page.is_news
    assert page.hash
    assert hash_of(f"{head}<p>text", f"{URI}{path}") == ""


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("", '<meta name="robots" content="noarchive">'),
        ("", '<meta http-equiv="refresh" content="60; url=/q/">'),
        ("", '<meta http-equiv="refresh" content="0">'),
        ("", '<meta http-equiv="refresh" content="1; url=http://site.example/p/index.html#x">'),
        ("", '<meta name="refresh" content="0; url=/q/">'),
        ("", '<link rel="canonical" href="https://other.example/p">'),
        ("q.html", '<link rel="canonical" href="https://site.example/p/q">'),
        ("q/", '<link rel="canonical" href="https://other.example/folder/p/q/index.html">'),
        ("", '<link rel="canonical" href="http://[">'),
        ("", '<link rel="alternate" href="/q/">'),
        ("404/", "<title>Our 400th article"),
        ("google.html", ""),
    ],
)
def test_pages(path: str, head: str) -> None:
    """Others are for people."""
    assert hash_of(f"{head}</title><p>text", f"{URI}{path}").startswith("1-")


@pytest.mark.parametrize(
    ("page", "same"),
    [
        (PAGE.encode(), "\ufeff".encode() + PAGE.encode()),
        (PAGE.encode(), PAGE.encode("utf-16")),
        (PAGE.encode(), PAGE.replace("utf-8", "iso-8859-1").encode("latin-1", "xmlcharrefreplace")),
        ("<main>\u6a4b".encode(), '<meta charset="iso-2022-jp"><main>\u6a4b'.encode("iso-2022-jp")),
        ("<main>\u20ac".encode(), '<meta charset="iso-8859-1"><main>\u20ac '.encode("cp1252")),
        ("<main>\u20ac".encode(), '<meta charset="punycode"><main>\u20ac '.encode("cp1252")),
        ("<main>\u0436".encode(), '<?xml version="1.0" encoding="koi8-r"?><main>\u0436 '.encode("koi8-r")),
    ],
)
def test_encodings(page: bytes, same: bytes) -> None:
    """The encoding does not count."""
    assert hash_of(page) == hash_of(same)


def test_programs_that_draw_pages() -> None:
    """A page without text is what it says of itself, or else its bytes."""
    shell = (
        '<title>App</title><meta name="description" content="D"><script src="/a.1a2b3c4d.js"></script><div id="root">'
    )
    assert hash_of(shell) == hash_of(shell.replace("1a2b", "9a2b"))
    assert hash_of(shell) != hash_of(shell.replace('"D"', '"E"'))
    assert hash_of('<script src="/a.js"></script>') != hash_of('<script src="/b.js"></script>')


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>A</title>", "A"),
        (f"<style>{' ' * 3000}</style><title>A</title>", "A"),
        (f"<script>{' ' * 3000}'<body>'</script><title>A</title>", "A"),
        (f"<style>{' ' * 3000}</style>", ""),
        ('<title>A</title><meta http-equiv="refresh" content="0; url=/b/">', None),
    ],
    ids=["short", "long", "body in a script", "none", "redirect"],
)
def test_title_of_a_file(tmp_path: Path, head: str, title: str | None) -> None:
    """It is in the head, which is read alone where it is found."""
    (file := tmp_path / "page.html").write_text(
        f"<html><head>{head}</head><body><p>B</p><title>C</title></body></html>"
    )
    assert read_title(file, URI) == title


def test_values() -> None:
    """What a page says, and the hash of a version that does not exist."""
    page = read_page(PAGE.replace("</head>", '<link rel="canonical" href=".">').encode(), URI)
    assert page._replace(hash="") == (
        "",
        True,
        "Ice",
        "en",
        URI,
        ("Ice", "Some old text, caf\u00e9. Other", "A view", "def f():\n    pass", "A note"),
        ("/other/#a",),
        ("/i/pic.png",),
        ('{"@type": "Article", "headline": "Ice"}',),
        "",
    )
    assert content_hash(PAGE.encode(), URI, "0") == ""


def test_the_function_stays() -> None:
    """Another hash of the same page needs another number: otherwise each site takes all its pages for changed."""
    assert (VERSION, hash_of(PAGE)) == ("1", "1-vk0JVhCw36UFO4ikbz8PSz")
