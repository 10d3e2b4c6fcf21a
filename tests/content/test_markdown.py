"""The content of a page as Markdown."""

import pytest

from pelican_resourcesync.content import read_page

URI = "https://site.example/p/"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<nav>A</nav><main><h1>B</h1><p>C <b>D</b></p><footer>E</footer></main><footer>F", "# B\n\nC **D**"),
        ('<main><h2>A<a class="headerlink" href="#a">\u00b6</a></h2><p data-nosnippet>B<p>C', "## A\n\nC"),
        (
            '<main><a href="../q/">A</a> <img src="/i.png" alt="B">',
            "[A](https://site.example/q/) ![B](https://site.example/i.png)",
        ),
        ('<main><a href="http://[">A</a>', "[A](http://[)"),
        ("<main><pre><code>def f():\n    pass</code></pre>", "```\ndef f():\n    pass\n```"),
        ("<main><ul><li>A<li>B</ul><table><tr><th>C<tr><td>D</table>", "- A\n- B\n\n| C |\n| --- |\n| D |"),
        ("<main><nav>A</nav></main><article>B</article>", "B"),
        ("<script>x</script>", ""),
        ("<p>A" + "<b>" * 400, ""),
    ],
)
def test_markdown(body: str, text: str) -> None:
    """It is the main region, with absolute links; nothing of a page that cannot be read."""
    page = read_page(body.encode(), URI, markdown=True)
    assert page.markdown == text
    assert page._replace(markdown="") == read_page(body.encode(), URI)
