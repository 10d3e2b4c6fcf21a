"""The words in which two states of a page differ."""

import pytest

from pelican_resourcesync.content import changed_words, read_page

URI = "https://site.example/p/"
MANY = [f"w{number}" for number in range(300)]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("<p>a b c d e f g h i", "<p>a b c d e f g x i", "   … d e f g|-h|+x| i"),
        ("<p>a b c d e f g h i", "<p>a X c d e f g h Y", " a|-b|+X| c d e f g h|-i|+Y"),
        ("<p>a 1 b c d e f g h i j k 2", "<p>a b c d e f g h i j k", " a|-1| b c d e … h i j k|-2"),
        ("<p>one<p>two<p>three", "<p>one<p>three<p>four", "-two|+four"),
        ("<p>a<p>b", "<ul><li>a<li>b", ""),
        (f"<p>{' '.join(MANY)}", f"<p>{' '.join(MANY[::-1])}", "-" + " ".join(MANY)[:30] + "…"),
        ("<p>a", "", "-a"),
    ],
    ids=["one", "at both ends", "removed", "blocks", "nothing", "too many", "all"],
)
def test_changed_words(before: str, now: str, expected: str) -> None:
    """Paragraphs are compared first, then their words; a few words around them show where they are."""
    pages = (read_page(f"<title>T</title><main><h1>T</h1>{body}</main>".encode(), URI) for body in (before, now))
    words = changed_words(next(pages), next(pages), longest=30)
    assert "|".join(sign + text for sign, text in words) == expected.replace("   …", " …")
