"""The inventory of resources: which outputs count, and under which URI."""

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.pelican.outputs import OutputFile
from pelican_resourcesync.publishers.pelican.resources import select_resources
from pelican_resourcesync.publishers.static_site import Exclusion
from pelican_resourcesync.publishers.static_site.files import is_html
from tests.publishers.pelican.support import SITEURL

NOTHING = Exclusion(())


def written(path: str, uri: str | None = None, *, source: str | None = None, public: bool = True) -> OutputFile:
    """Make an output by hand."""
    return OutputFile(path, f"{SITEURL}/{path if uri is None else uri}", source, public=public)


def paths(outputs: list[OutputFile], *patterns: str) -> list[str]:
    """Return the paths of the resources among outputs."""
    return [each.path for each in select_resources(outputs, Exclusion(patterns))]


def test_all_outputs_in_the_order_of_their_uris() -> None:
    """Everything public is a resource; the order is the URIs', not the paths'."""
    outputs = [written("z.html", "a/"), written("b.html"), written("a/index.html", "c/")]
    assert paths(outputs) == ["z.html", "b.html", "a/index.html"]


def test_what_is_not_public_is_left_out() -> None:
    """Drafts and hidden pages are none."""
    assert paths([written("a.html"), written("drafts/b.html", public=False)]) == ["a.html"]


def test_own_documents_are_left_out() -> None:
    """What we wrote ourselves is not listed; what only looks like it is."""
    outputs = [
        written(path)
        for path in (
            ".well-known/resourcesync",
            ".well-known/security.txt",
            "resourcesync/index.html",
            "resourcesync/site/changelist.xml",
            "resourcesync.html",
            "blog/resourcesync/a.html",
        )
    ]
    assert paths(outputs) == [".well-known/security.txt", "blog/resourcesync/a.html", "resourcesync.html"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("404.html", ["a/404.html", "a/b.HTML", "x.html"]),
        ("a/*", ["404.html", "x.html"]),
        ("*.html", ["a/b.HTML"]),
        ("?.html", ["404.html", "a/404.html", "a/b.HTML"]),
        ("b.HTML", ["404.html", "a/404.html", "a/b.HTML", "x.html"]),
    ],
)
def test_exclude_names_paths(pattern: str, left: list[str]) -> None:
    """A pattern is of the whole path, with case, and `*` goes into folders."""
    outputs = [written(path) for path in ("404.html", "a/404.html", "a/b.HTML", "x.html")]
    assert paths(outputs, pattern) == left


def test_two_outputs_with_one_uri_are_an_error_that_names_both() -> None:
    """Nobody can guess which of two files a URI means."""
    outputs = [written("a/index.html", "a/", source="a.md"), written("b.html", "a/")]
    message = (
        rf"^a/index\.html \(of a\.md\) and b\.html both have the URI {SITEURL}/a/: "
        r"change the URL of one of them, or exclude it \(RESOURCESYNC\['exclude'\]\)$"
    )
    with pytest.raises(PublicationError, match=message):
        select_resources(outputs, NOTHING)


def test_excluding_one_of_two_is_the_cure() -> None:
    """As the message says; and one that is not public is in nobody's way."""
    outputs = [written("a/index.html", "a/"), written("b.html", "a/")]
    assert paths(outputs, "b.html") == ["a/index.html"]
    assert paths([outputs[0], written("b.html", "a/", public=False)]) == ["a/index.html"]


@pytest.mark.parametrize(
    ("uri", "pattern", "covered"),
    [
        ("private/a.html", "private/*", True),
        ("private/", "private/*", True),
        ("private/", "private/index.html", True),
        ("private", "private/index.html", True),
        ("private/a", "private/a.html", True),
        ("", "index.html", True),
        ("two%20words.html", "two words.html", True),
        ("gr%C3%B6%C3%9Fe.html", "größe.html", True),
        ("caf%E9.html", "caf?.html", True),
        ("a.html", "private/*", False),
        ("a.html", "a.html.html", False),
        ("private/a", "private/b.html", False),
        ("resourcesync/", "", True),
        ("resourcesync/site/old.xml", "", True),
        (".well-known/resourcesync", "", True),
    ],
)
def test_uris_of_the_past_are_excluded_as_their_files_are(uri: str, pattern: str, covered: bool) -> None:
    """Whatever file a host may have answered with, an exclusion of it covers the URI too."""
    assert Exclusion((pattern,)).excludes_uri(SITEURL, f"{SITEURL}/{uri}") is covered


def test_html_by_name() -> None:
    """Pages are known by their names' ends, in any case."""
    assert [is_html(name) for name in ("a.html", "a/b.HTM", "a.xhtml", "html", "a.html.gz")] == [
        True,
        True,
        *[False] * 3,
    ]
