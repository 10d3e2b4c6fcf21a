"""Each kind of block in each theme: a change of it moves its page, and what the theme puts around it moves none."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.content import content_hash

#: Kinds of blocks in reStructuredText and in Markdown, with a word that changes.
RST = {
    "heading": "Part\n----\n\nText.\n\nOLD\n---\n\nText.",
    "list": "- one\n- OLD\n\n  - nested",
    "numbers": "1. one\n2. OLD",
    "table": "===  ===\nA    B\n===  ===\none  OLD\n===  ===",
    "term": "OLD\n   A definition",
    "definition": "term\n   OLD",
    "code": ".. code-block:: python\n   :linenos:\n\n   def f():\n       return OLD",
    "caption": ".. figure:: /a.png\n   :alt: A\n\n   OLD",
    "footnote": "Text [#a]_.\n\n.. [#a] OLD",
    "admonition": ".. warning::\n\n   OLD",
    "sidebar": ".. sidebar:: Title\n\n   OLD",
    "sidebar-title": ".. sidebar:: OLD\n\n   Text",
    "topic": ".. topic:: Title\n\n   OLD",
    "quotation": "Text:\n\n   Quoted\n\n   -- OLD",
    "link": "`text <https://other.example/OLD>`__",
    "alt": ".. image:: /a.png\n   :alt: OLD",
    "picture": ".. image:: /OLD.png",
    "toc": ".. contents::\n\nPart\n----\n\nText\n\nOLD\n---\n\nText",
    "signature": ".. py:function:: f(OLD)\n\n   Text",
}
MARKDOWN = {
    "heading": "## Part\n\nText.\n\n## OLD\n\nText.",
    "list": "- one\n- OLD",
    "numbers": "1. one\n2. OLD",
    "table": "| A | B |\n|---|---|\n| one | OLD |",
    "term": "OLD\n:   A definition",
    "definition": "term\n:   OLD",
    "code": "```python\ndef f():\n    return OLD\n```",
    "footnote": "Text[^a].\n\n[^a]: OLD",
    "admonition": "!!! warning\n    OLD",
    "admonition-title": '!!! note "OLD"\n    Text',
    "details": "<details><summary>A</summary>OLD</details>",
    "summary": "<details><summary>OLD</summary>A</details>",
    "quotation": "> OLD",
    "link": "[text](https://other.example/OLD)",
    "alt": "![OLD](https://other.example/a.png)",
    "picture": "![A](https://other.example/OLD.png)",
    "abbreviation": "OLD and more",
}

SPHINX = 'project = "Site"\nversion = release = "{version}"\ncopyright = "{year}"\nhtml_theme = "{theme}"\n'
MKDOCS = """
site_name: Site {version}
site_url: https://site.example/
copyright: "{year}"
theme: {theme}
markdown_extensions: [abbr, admonition, attr_list, def_list, footnotes, tables, fenced_code]
"""
PELICAN = """
SITENAME = "Site {version}"
SITEURL = "https://site.example"
AUTHOR = "Me"
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
LINKS = (("{year}", "https://other.example/{year}"),)
ARTICLE_PATHS, PAGE_PATHS = [""], []
MARKDOWN = {{"extensions": ["extra", "admonition"]}}
THEME = "{theme}"
PLUGINS = []
"""
#: For each generator its settings file, the files of pages and their head, and its command.
GENERATORS = {
    "sphinx": ("docs/conf.py", SPHINX, "docs/{name}.rst", "Page {name}\n==========================\n\n", RST),
    "mkdocs": ("mkdocs.yml", MKDOCS, "docs/{name}.md", "# Page {name}\n\n", MARKDOWN),
    "pelican": ("pelicanconf.py", PELICAN, "docs/{name}.md", "Title: Page {name}\nDate: {date}\n\n", MARKDOWN),
}
COMMANDS = {
    "sphinx": "sphinx -q -b html docs output",
    "mkdocs": "mkdocs build -q -d output",
    "pelican": "pelican -q docs -s pelicanconf.py -o output",
}


def build(folder: Path, generator: str, theme: str, *, again: bool) -> dict[str, str]:
    """Build a site with two pages for each kind of block; return the content hashes of its pages.

    When it is built `again`, one page of each kind has changed, there is a new page, and all around has changed, too.
    """
    settings, text, path, head, kinds = GENERATORS[generator]
    (folder / "docs").mkdir(exist_ok=True)
    values = {"version": "1.3", "year": "2027"} if again else {"version": "1.2", "year": "2026"}
    (folder / settings).write_text(text.format(theme=theme, **values), "utf-8")
    pages = {f"{kind}-{role}": block for kind, block in kinds.items() for role in ("changed", "kept")}
    pages |= {"zz-new": "A new page"} if again else {}
    for number, (name, block) in enumerate(pages.items()):
        word = "new" if again and name.endswith("-changed") else "old"
        date = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
        source = folder / path.format(name=name)
        source.write_text(head.format(name=name, date=date) + block.replace("OLD", word) + "\n", "utf-8")
    if generator == "sphinx":
        names = "".join(f"   {name}\n" for name in pages)
        (folder / "docs/index.rst").write_text(f"Site\n====\n\n.. toctree::\n\n{names}", "utf-8")
    shutil.rmtree(folder / "output", ignore_errors=True)
    command = [sys.executable, "-m", *COMMANDS[generator].split()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    output = folder / "output"
    files = {file.relative_to(output).as_posix().removesuffix("/index.html"): file for file in output.rglob("*.html")}
    return {
        name: content_hash(file.read_bytes(), f"https://site.example/{name.removesuffix('.html')}/")
        for key, file in files.items()
        if (name := key.removesuffix(".html").removeprefix("page-")) in pages
    }


@pytest.mark.parametrize(
    ("generator", "theme"),
    [
        ("sphinx", "alabaster"),
        ("mkdocs", "mkdocs"),
        ("mkdocs", "readthedocs"),
        ("pelican", "notmyidea"),
        ("pelican", "simple"),
    ],
)
def test_generators(tmp_path: Path, generator: str, theme: str) -> None:
    """Exactly the pages whose sources changed have another hash."""
    before, after = (build(tmp_path, generator, theme, again=again) for again in (False, True))
    kinds = GENERATORS[generator][-1]
    assert before.keys() == {f"{kind}-{role}" for kind in kinds for role in ("changed", "kept")}
    assert {name for name in before if before[name] != after[name]} == {f"{kind}-changed" for kind in kinds}


#: How other themes build a page: `AROUND` is what they write around the content, `CONTENT` is where that is.
PAGES = {
    "material": """<title>Ice - AROUND</title><body><header class="md-header"><nav>AROUND</nav></header>
<div class="md-container"><main class="md-main"><div class="md-main__inner md-grid">
<div class="md-sidebar md-sidebar--primary"><nav class="md-nav"><ul><li>AROUND</ul></nav></div>
<div class="md-sidebar md-sidebar--secondary"><nav class="md-nav md-nav--secondary">AROUND</nav></div>
<div class="md-content"><article class="md-content__inner md-typeset"><a href="/edit" class="md-content__button"></a>
<h1 id="ice">Ice<a class="headerlink" href="#ice" title="Permanent link">&para;</a></h1>CONTENT
<aside class="md-source-file"><span class="md-source-file__fact">AROUND</span></aside></article></div></div></main>
<footer class="md-footer"><nav>AROUND</nav></footer></div>""",
    "furo": """<title>Ice - AROUND documentation</title><body><div class="page">
<aside class="sidebar-drawer">AROUND</aside>
<div class="main"><div class="content"><div class="article-container"><div class="content-icon-container">
<div class="view-this-page"><a href="_sources/ice.rst.txt"></a></div></div>
<article role="main" id="furo-main-content"><section id="ice"><h1>Ice<a class="headerlink" href="#ice">\u00b6</a></h1>
CONTENT</section></article></div><footer><div class="related-pages"><a class="next-page">AROUND</a></div></footer></div>
<aside class="toc-drawer">AROUND</aside></div></div>""",
    "rtd": """<title>Ice &mdash; AROUND documentation</title><body class="wy-body-for-nav">
<nav class="wy-nav-side">AROUND</nav>
<section class="wy-nav-content-wrap"><div role="navigation"><ul class="wy-breadcrumbs"><li>AROUND</ul></div>
<div role="main" class="document"><div itemprop="articleBody"><section id="ice"><h1>Ice</h1>CONTENT</section></div>
</div>
<footer><div class="rst-footer-buttons" role="navigation">AROUND</div></footer></section>""",
    "docusaurus": """<title data-rh="true">Ice | AROUND</title><body><nav class="navbar">AROUND</nav>
<aside class="theme-doc-sidebar-container docSidebarContainer_EnFG">AROUND</aside><main class="docMainContainer_E9bU">
<div class="row"><div class="col docItemCol_VOVn"><article>
<nav class="theme-doc-breadcrumbs">AROUND</nav><div class="tocCollapsible_ETCw"><button>On this page</button></div>
<div class="theme-doc-markdown markdown"><header><h1>Ice</h1></header>CONTENT</div>
<footer class="theme-doc-footer"><span class="theme-last-updated">AROUND</span></footer></article>
<nav class="pagination-nav">AROUND</nav></div></div></main><footer class="theme-layout-footer">AROUND</footer>""",
    "starlight": """<title>Ice | AROUND</title><body><header class="header">AROUND</header>
<nav class="sidebar">AROUND</nav>
<div class="main-frame"><aside class="right-sidebar-container">AROUND</aside><main data-pagefind-body lang="en">
<div class="content-panel"><h1 id="_top" data-page-title>Ice</h1></div>
<div class="content-panel"><div class="sl-markdown-content">CONTENT</div>
<footer class="sl-flex"><p>Last updated: <time>AROUND</time></p><div class="pagination-links">AROUND</div></footer>
</div>
</main></div>""",
    "vitepress": """<title>Ice | AROUND</title><body><div id="app"><div class="Layout">
<header class="VPNav">AROUND</header>
<aside class="VPSidebar"><nav>AROUND</nav></aside><div class="VPContent has-sidebar">
<div class="VPDoc has-sidebar has-aside">
<div class="aside"><div class="VPDocAside">On this page</div></div><div class="content"><main class="main">
<div class="vp-doc"><h1 id="ice">Ice <a class="header-anchor" href="#ice">\u200b</a></h1>CONTENT</div></main>
<footer class="VPDocFooter"><p class="VPLastUpdated">AROUND</p></footer></div></div></div></div></div>""",
    "papermod": """<title>Ice | AROUND</title><body><header class="header"><nav class="nav">AROUND</nav></header>
<main class="main">
<article class="post-single"><header class="post-header"><div class="breadcrumbs">AROUND</div>
<h1 class="post-title">Ice</h1>
<div class="post-meta"><span>1 January</span></div></header><div class="post-content">CONTENT</div>
<footer class="post-footer"><nav class="paginav">AROUND</nav></footer></article></main>
<footer class="footer">AROUND</footer>""",
    "hugo-book": """<title>Ice | AROUND</title><body><main class="container flex"><aside class="book-menu">
<nav>AROUND</nav></aside>
<div class="book-page"><header class="book-header"></header><article class="markdown book-article">
<h1>Ice</h1>CONTENT</article>
<footer class="book-footer">AROUND</footer></div><aside class="book-toc">AROUND</aside></main>""",
    "minima": """<title>Ice | AROUND</title><body><header class="site-header"><nav class="site-nav">AROUND</nav>
</header>
<main class="page-content"><div class="wrapper"><article class="post h-entry" itemscope><header class="post-header">
<h1 class="post-title p-name" itemprop="name headline">Ice</h1></header>
<div class="post-content e-content" itemprop="articleBody">CONTENT</div><div id="disqus_thread"></div></article>
</div></main>
<footer class="site-footer h-card">AROUND</footer>""",
    "eleventy": """<title>Ice</title><body><a href="#skip" class="visually-hidden">Skip</a>
<header>AROUND<nav>AROUND</nav></header>
<main id="skip"><heading-anchors><h1>Ice</h1><ul class="post-metadata"><li><time>1 January</time></ul>CONTENT
<ul class="links-nextprev"><li class="links-nextprev-prev">\u2190 Previous<br><a href="/AROUND/">AROUND</a></ul>
</heading-anchors></main><footer>AROUND</footer>""",
    "mdbook": """<title>Ice - AROUND</title><body><nav id="mdbook-sidebar" class="sidebar">AROUND</nav>
<div class="page-wrapper">
<div id="menu-bar"><h1 class="menu-title">AROUND</h1></div><main><h1 id="ice"><a class="header" href="#ice">Ice</a>
</h1>CONTENT
</main><nav class="nav-wrapper">AROUND</nav></div>""",
    "a table of 1999": """<title>Ice</title><body><form action=""><table><tr>
<td class="menu" id="nav" role="navigation">AROUND</td>
<td id="content"><h1>Ice</h1>CONTENT</td></tr></table></form>""",
}

#: Kinds of blocks in the HTML of these themes.
HTML = {
    "heading": "<h2>OLD</h2>",
    "heading in its anchor": '<h2 id="x"><a class="header-anchor" href="#x">OLD</a></h2>',
    "heading in its entry of the contents": '<h2><a class="toc-backref" href="#x">OLD</a></h2>',
    "heading beside its anchor": '<div class="wrapper"><h2>OLD</h2><a class="sl-anchor-link" href="#x">#</a></div>',
    "heading with an id": '<section id="comments" class="section"><h2>Comments</h2><p>OLD</p></section>',
    "list": "<ul><li>one<li>OLD</ul>",
    "task": '<ul><li class="task-list-item"><input type="checkbox" disabled> OLD</ul>',
    "table": "<table><thead><tr><th>A<tbody><tr><td>OLD</table>",
    "definition": '<dl class="py function"><dt class="sig">f(<em class="sig-param">OLD</em>)<dd>Text</dl>',
    "code": '<div class="highlight"><pre><span></span><code><span class="k">def</span> OLD</code></pre></div>',
    "code in a table": '<table><tr><td class="linenos"><pre>1</pre><td class="code"><pre>OLD</pre></table>',
    "lines of code": '<pre><code><div class="ec-line"><div class="code">OLD</div></div></code></pre>',
    "title of code": '<figure><figcaption class="header"><span class="title">OLD</span></figcaption></figure>',
    "caption": "<figure><img src=/a.png alt=A><figcaption>OLD</figcaption></figure>",
    "footnote": '<section class="footnotes" role="doc-endnotes"><ol><li id="fn1">OLD</ol></section>',
    "footnote of docutils": '<aside class="footnote-list brackets"><aside class="footnote">OLD</aside></aside>',
    "footnote in a footer": '<footer class="footnotes">OLD</footer>',
    "admonition": '<div class="admonition note"><p class="admonition-title">Note</p><p>OLD</p></div>',
    "aside": '<aside class="starlight-aside starlight-aside--tip"><p class="starlight-aside__title">OLD</p></aside>',
    "alert": '<blockquote class="alert alert-note"><p>OLD</p></blockquote>',
    "tab": '<div class="tabbed-set"><input type="radio"><label>OLD</label></div>',
    "tab by a button": '<div role="tablist"><button role="tab">OLD</button></div>',
    "panel of a tab": '<div role="tabpanel" hidden aria-hidden="true">OLD</div>',
    "details": "<details><summary>A</summary><p>OLD</p></details>",
    "question": '<h3><button aria-expanded="false">OLD</button></h3>',
    "quotation": "<blockquote><p>A</p><footer>OLD</footer></blockquote>",
    "date": "<p>Meeting on <time>OLD</time></p>",
    "formula": '<span class="katex"><math><mi>OLD</mi></math><span aria-hidden="true">old</span></span>',
    "link": '<p><a href="/OLD/">text</a></p>',
    "video": '<iframe src="https://video.example/watch?v=OLD"></iframe>',
    "element of the site": '<lite-youtube videoid="OLD-0123456789ab"><a class="lyt-button">Play</a></lite-youtube>',
    "element with a source": '<p><audio-player src="/OLD.mp3"></audio-player></p>',
    "element with a link": '<fancy-card href="/OLD/">text</fancy-card>',
    "link with parameters": '<p><a href="https://video.example/watch?v=OLD">text</a></p>',
    "alt": '<p><img src="/a.png" alt="OLD"></p>',
    "picture": '<p><img src="/OLD.png" alt="A" loading="lazy"></p>',
    "picture that is loaded late": '<p><img src="data:image/gif;base64,R0" data-src="/OLD.png" alt="A"></p>',
    "emoji": '<p><img class="emoji" src="/e.svg" alt="OLD"></p>',
    "card": '<div class="sd-card"><div class="sd-card-header">OLD</div></div>',
    "listing": '<div class="toctree-wrapper compound"><ul><li class="toctree-l1"><a href="/a/">OLD</a></ul></div>',
}


@pytest.mark.parametrize("theme", PAGES)
def test_markup(theme: str) -> None:
    """Each kind of block counts, and what is around it does not."""

    def hash_of(kind: str, word: str, around: str) -> str:
        page = PAGES[theme].replace("CONTENT", HTML[kind].replace("OLD", word)).replace("AROUND", around)
        return content_hash(f'<!doctype html><meta charset="utf-8">{page}'.encode(), "https://site.example/ice/")

    assert [kind for kind in HTML if hash_of(kind, "old", "one") == hash_of(kind, "new", "one")] == []
    assert [kind for kind in HTML if hash_of(kind, "old", "one") != hash_of(kind, "old", "two")] == []
