"""The rule as a table: what happened to a site, and what is listed of it, as `docs/history.md` says."""

from pathlib import Path
from typing import Any

import pytest

from tests.site.history.cases import (
    BUILD,
    Branch,
    Build,
    Case,
    LinkTo,
    Loose,
    at,
    build,
    conf,
    create,
    left_out,
    listed,
    noon,
    source,
)

A, A2, A3 = source("a"), source("a", "Another text."), source("a", "A third text.")
A_HEAD = source("a", Note="of no matter")
B, B2 = source("b"), source("b", "Another text.")
C = source("c")
A_FR = source("a", "Un texte.", Lang="fr")
DRAFT, HIDDEN, SKIPPED = (source("a", Status=status) for status in ("draft", "hidden", "skip"))
BROKEN = source("a", Date="some day")
README = {"/README": "of no matter"}


def tagged(*tags: str, title: str = "a", **metadata: str) -> str:
    """Return an article with tags."""
    return source(title, Tags=", ".join(tags), **metadata)


def dated(title: str, day: int, text: str = "Text.") -> str:
    """Return an article of a day: the latest is listed first."""
    return source(title, text, Date=f"2023-01-{day:02}")


FOLDERS = at(ARTICLE="{category}/{slug}.html") | {"CATEGORY_SAVE_AS": "c/{slug}.html", "CATEGORY_URL": "c/{slug}.html"}
YEARS = at(ARTICLE="{date:%Y}/{slug}.html")
COPIES = {"OUTPUT_SOURCES": True}
OWN_THEME = {"THEME": "theme"}
TEMPLATE = {"TEMPLATE_PAGES": {"t.tpl": "made.html"}}

SOURCES = [
    Case("an article", [{"x.md": A}, {"x.md": A2}, {"x.md": None}], "1 +a; 2 ~a; 3 -a"),
    Case("a page", [{"pages/x.md": A}, {"pages/x.md": A2}, {"pages/x.md": None}], "1 +pages/a; 2 ~pages/a; 3 -pages/a"),
    Case("a static file", [{"images/i": "1"}, {"images/i": "2"}, {"images/i": None}],
         "1 +images/i; 2 ~images/i; 3 -images/i"),
    Case("a file of the theme", [{"/theme/static/s": "1"}, {"/theme/static/s": "2"}, {"/theme/static/s": None}],
         "1 +theme/s; 2 ~theme/s; 3 -theme/s", settings=OWN_THEME),
    Case("a copied source", [{"x.md": A}, {"x.md": A2}, {"x.md": None}],
         "1 +a +a.text; 2 ~a ~a.text; 3 -a -a.text", settings=COPIES),
    Case("a template page", [{"t.tpl": "1"}, {"t.tpl": "2"}], "1 +made; 2 ~made", settings=TEMPLATE),
    Case("a template page that is named no more is not known",
         [{"t.tpl": "1"}, conf({"t.tpl": None}, TEMPLATE_PAGES={})],
         "", settings=TEMPLATE),
    Case("a file that no generator takes", [{"x.doc": "1", **README}], ""),
    Case("a commit that changes no source", [{"x.md": A}, README, {}], "1 +a"),
    Case("an edit of metadata alone", [{"x.md": A}, {"x.md": A_HEAD}], "1 +a; 2 ~a"),
    Case("an edit that is taken back", [{"x.md": A}, {"x.md": A2}, {"x.md": A}], "1 +a; 2 ~a; 3 ~a"),
    Case("deleted and made again", [{"x.md": A}, {"x.md": None}, {"x.md": A}], "1 +a; 2 -a; 3 +a"),
    Case("a new time stamp is no new content", [{"x.md": A}, {}, {"x.md": A}], "1 +a"),
    Case("a template of the theme", [{"x.md": A, "/theme/templates/t.html": "1"}, {"/theme/templates/t.html": "2"}],
         "1 +a", settings=OWN_THEME),
    Case("settings", [{"x.md": A}, conf(SITENAME="Another name")], "1 +a"),
]  # fmt: skip

MOVES = [
    Case("a rename that keeps the URL", [{"x.md": A}, {"x.md": None, "y.md": A}], "1 +a"),
    Case("a rename with an edit", [{"x.md": A}, {"x.md": None, "y.md": A2}], "1 +a; 2 ~a"),
    Case("a rename in two commits", [{"x.md": A}, {"y.md": A}, {"x.md": None}], "1 +a"),
    Case("a rename that is no rename of the URL", [{"images/i": "1"}, {"images/i": None, "images/j": "1"}],
         "1 +images/i; 2 -images/i +images/j"),
    Case("another slug", [{"x.md": A}, {"x.md": source("a", Slug="b")}], "1 +a; 2 -a +b"),
    Case("another title", [{"x.md": A}, {"x.md": B}], "1 +a; 2 -a +b"),
    Case("another title, the same slug", [{"x.md": A}, {"x.md": source("b", Slug="a")}], "1 +a; 2 ~a"),
    Case("another category", [{"old/x.md": A}, {"old/x.md": None, "new/x.md": A}],
         "1 +c/old +old/a; 2 +c/new -c/old +new/a -old/a", settings=FOLDERS),
    Case("another date", [{"x.md": A}, {"x.md": source("a", Date="2023-05-05")}],
         "1 +2024/a; 2 +2023/a -2024/a", settings=YEARS),
    Case("another date in the same year", [{"x.md": A}, {"x.md": source("a", Date="2024-05-05")}],
         "1 +2024/a; 2 ~2024/a", settings=YEARS),
    Case("two that change places", [{"x.md": A, "y.md": B}, {"x.md": B, "y.md": A}], "1 +a +b"),
    Case("two of one URL, of which one goes", [{"x.md": A}, {"y.md": A2}, {"x.md": None}], "1 +a; 2 ~a; 3 ~a"),
    Case("an article becomes a page", [{"x.md": A}, {"x.md": None, "pages/x.md": A}], "1 +a; 2 -a +pages/a"),
    Case("an article is kept apart", [{"x.md": A}, {"x.md": source("a", Save_as="s.html", Url="s.html")}],
         "1 +a; 2 -a +s"),
]  # fmt: skip

WAIT = {"WITH_FUTURE_DATES": False}
LATER = source("a", Date="2024-01-03")

#: docutils knows no such directive, and Pelican publishes no source with an error in it.
REJECTED = "Rejected\n########\n\n:date: 2024-01-01\n:slug: a\n\n.. nosuchdirective::\n"

STATUS = [
    Case("a source that Pelican rejects may always have been rejected",
         [{"x.rst": REJECTED}, {"x.rst": REJECTED.replace("slug: a", "slug: b"), "y.md": source("c")}],
         "2 +c", left_out=1),
    Case("a draft that is published", [{"x.md": DRAFT}, {"x.md": A}], "2 +a"),
    Case("a draft that stays one", [{"x.md": DRAFT}, {"x.md": DRAFT + "More."}, {"x.md": None}], ""),
    Case("published, then a draft", [{"x.md": A}, {"x.md": DRAFT}], "1 +a; 2 -a"),
    Case("published, then hidden", [{"x.md": A}, {"x.md": HIDDEN}], "1 +a; 2 -a"),
    Case("published, then skipped", [{"x.md": A}, {"x.md": SKIPPED}], "1 +a; 2 -a"),
    Case("hidden, then published", [{"x.md": HIDDEN}, {"x.md": A}], "2 +a"),
    Case("a draft that moves", [{"x.md": A}, {"x.md": DRAFT}, {"x.md": source("b", Status="draft")}, {"x.md": B}],
         "1 +a; 2 -a; 4 +b"),
    Case("a page that is a draft", [{"pages/x.md": DRAFT}, {"pages/x.md": A}, {"pages/x.md": DRAFT}],
         "2 +pages/a; 3 -pages/a"),
    Case("the copy of a draft is none", [{"x.md": DRAFT}, {"x.md": A}, {"x.md": DRAFT}],
         "2 +a +a.text; 3 -a -a.text", settings=COPIES),
    Case("an article that goes before its date comes", [{"x.md": LATER, "y.md": B}, {"x.md": None}],
         "1 +b", settings=WAIT),
    Case("an article that moves before its date comes", [{"x.md": source("b", Date="2024-01-03")}, {"x.md": LATER}, {}],
         "2 +a", settings=WAIT),
    Case("an article that is put off", [{"x.md": A}, {"x.md": source("a", Date="2130-01-01")}],
         "1 +a; 2 -a", settings=WAIT),
    Case("an article whose date has come", [{"x.md": A}, {"x.md": A2}], "1 +a; 2 ~a", settings=WAIT),
    Case("an article whose date comes after its last edit", [{"x.md": LATER}, {}, {}], "1 +a", settings=WAIT),
    Case("all are drafts unless they say otherwise", [{"x.md": A}, {"x.md": source("a", Status="published")}],
         "2 +a", settings={"DEFAULT_METADATA": {"status": "draft"}}),
]  # fmt: skip

INDEX = {"DIRECT_TEMPLATES": ["index"]}
INDEX_AND_FEED = INDEX | {"FEED_ALL_ATOM": "all"}
CATEGORIES = at(CATEGORY="c/{slug}.html")
TAGS = at(TAG="t/{slug}.html")
AUTHORS = at(AUTHOR="w/{slug}.html")
EACH = {"DEFAULT_PAGINATION": 1, **INDEX}
PAIRS = {"DEFAULT_PAGINATION": 2, **INDEX}
LANGUAGES = INDEX | {"FEED_ALL_ATOM": "all", "TRANSLATION_FEED_ATOM": "all-{lang}"}

LISTINGS = [
    Case("the list of tags, in pages, counts articles without tags",
         [{"x.md": A}, {"y.md": B}, {"z.md": source("c")}], "1 +a +tags; 2 +b +tags2; 3 +c +tags3",
         settings={"DIRECT_TEMPLATES": ["tags"], "PAGINATED_TEMPLATES": {"tags": 1}}),
    Case("the index and a feed of nothing", [{}], "1 +all +index", settings=INDEX_AND_FEED),
    Case("the index and feeds show texts", [{"x.md": A}, {"x.md": A2}, {"x.md": A_HEAD}, {"x.md": None}],
         "1 +a +all +index; 2 ~a ~all ~index; 3 ~a ~all ~index; 4 -a ~all ~index", settings=INDEX_AND_FEED),
    Case("no listing shows a page", [{"pages/x.md": A}, {"pages/x.md": A2}, {"pages/x.md": None}],
         "1 +all +index +pages/a; 2 ~pages/a; 3 -pages/a", settings=INDEX_AND_FEED),
    Case("no listing shows a draft", [{"x.md": DRAFT}, {"x.md": DRAFT + "More."}, {"x.md": HIDDEN}],
         "1 +all +index", settings=INDEX_AND_FEED),
    Case("a rename is none of a listing's", [{"x.md": A}, {"x.md": None, "y.md": A}],
         "1 +a +all +index", settings=INDEX_AND_FEED),
    Case("a category shows metadata", [{"x.md": A}, {"x.md": A2}, {"x.md": A_HEAD}, {"x.md": None}],
         "1 +a +c/misc; 2 ~a; 3 ~a ~c/misc; 4 -a -c/misc", settings=CATEGORIES),
    Case("a category of two", [{"x.md": A}, {"y.md": B}, {"x.md": None}],
         "1 +a +c/misc; 2 +b ~c/misc; 3 -a ~c/misc", settings=CATEGORIES),
    Case("an article changes its category", [{"k/x.md": A, "k/y.md": B}, {"k/x.md": None, "l/x.md": A}],
         "1 +a +b +c/k; 2 ~c/k +c/l", settings=CATEGORIES),
    Case("tags come and go", [{"x.md": A}, {"x.md": tagged("u", "v")}, {"x.md": tagged("v")}, {"x.md": A}],
         "1 +a; 2 ~a +t/u +t/v; 3 ~a -t/u ~t/v; 4 ~a -t/v", settings=TAGS),
    Case("a tag of a draft is no tag", [{"x.md": tagged("u", Status="draft")}, {"x.md": tagged("u")}],
         "2 +a +t/u", settings=TAGS),
    Case("authors come and go", [{"x.md": source("a", Authors="v; w")}, {"x.md": source("a", Authors="w")}],
         "1 +a +w/v +w/w; 2 ~a -w/v ~w/w", settings=AUTHORS),
    Case("years come and go", [{"x.md": A}, {"x.md": source("a", Date="2023-05-05")}, {"y.md": B}, {"y.md": B2}],
         "1 +2024/ +a; 2 +2023/ -2024/ ~a; 3 +2024/ +b; 4 ~b", settings=at(YEAR_ARCHIVE="{date:%Y}/")),
    Case("the archives show metadata", [{}, {"x.md": A}, {"x.md": A2}, {"x.md": A_HEAD}, {"x.md": None}],
         "1 +archives; 2 +a ~archives; 3 ~a; 4 ~a ~archives; 5 -a ~archives",
         settings={"DIRECT_TEMPLATES": ["archives"]}),
    Case("the page of all tags", [{"y.md": B}, {"x.md": tagged("u")}, {"y.md": B2}, {"x.md": A}],
         "1 +b +tags; 2 +a ~tags; 3 ~b; 4 ~a ~tags", settings={"DIRECT_TEMPLATES": ["tags"]}),
    Case("feeds of a category, a tag and an author",
         [{"x.md": tagged("u", Authors="v")}, {"x.md": tagged("u", Authors="v") + "More."}, {"x.md": A}],
         "1 +a +f/misc +g/u +h/v; 2 ~a ~f/misc ~g/u ~h/v; 3 ~a ~f/misc -g/u -h/v",
         settings={"CATEGORY_FEED_ATOM": "f/{slug}", "TAG_FEED_RSS": "g/{slug}", "AUTHOR_FEED_ATOM": "h/{slug}"}),
    Case("page 2 comes and goes", [{"x.md": dated("a", 9)}, {"y.md": dated("b", 8)}, {"y.md": None}],
         "1 +a +index; 2 +b +index2; 3 -b -index2", settings=EACH),
    Case("an edit on page 2", [{"x.md": dated("a", 9), "y.md": dated("b", 8)}, {"y.md": dated("b", 8, "New.")}],
         "1 +a +b +index +index2; 2 ~b ~index2", settings=EACH),
    Case("a new article shifts all pages", [{"x.md": dated("a", 3), "y.md": dated("b", 2)}, {"z.md": dated("c", 9)}],
         "1 +a +b +index +index2; 2 +c ~index ~index2 +index3", settings=EACH),
    Case("an old article shifts the last page alone",
         [{"x.md": dated("a", 4), "y.md": dated("b", 3), "z.md": dated("c", 2)}, {"w.md": dated("d", 1)}],
         "1 +a +b +c +index +index2; 2 +d ~index2", settings=PAIRS),
    Case("the pages before an edit stay",
         [{"x.md": dated("a", 4), "y.md": dated("b", 3), "z.md": dated("c", 2)}, {"y.md": None}],
         "1 +a +b +c +index +index2; 2 -b ~index -index2", settings=PAIRS),
    Case("pages of a tag", [{"x.md": tagged("u"), "y.md": tagged("u", title="b")}, {"y.md": B}],
         "1 +a +b +t/u +t/u2; 2 ~b -t/u2", settings=TAGS | {"DEFAULT_PAGINATION": 1}),
    Case("a feed shows so many and no more",
         [{"x.md": dated("a", 3)}, {"y.md": dated("b", 2)}, {"y.md": dated("b", 2, "New.")}, {"z.md": dated("c", 9)}],
         "1 +a +all; 2 +b; 3 ~b; 4 ~all +c", settings={"FEED_ALL_ATOM": "all", "FEED_MAX_ITEMS": 1}),
    Case("a translation", [{"x.md": A}, {"f.md": A_FR}, {"f.md": A_FR + "Plus."}, {"f.md": None}],
         "1 +a +all +all-en +index; 2 +a-fr ~all +all-fr; 3 ~a-fr ~all ~all-fr; 4 -a-fr ~all -all-fr",
         settings=LANGUAGES),
    Case("the original of a translation leaves", [{"x.md": A, "f.md": A_FR}, {"x.md": None}],
         "1 +a +a-fr +all +all-en +all-fr +index; 2 -a ~all -all-en ~index", settings=LANGUAGES),
    Case("the original of a translation arrives", [{"f.md": A_FR}, {"x.md": A}],
         "1 +a-fr +all +all-fr +index; 2 +a ~all +all-en ~index", settings=LANGUAGES),
    Case("the tag of a translation is none", [{"x.md": A, "f.md": tagged("u", Lang="fr")}, {"x.md": None}],
         "1 +a +a-fr; 2 -a +t/u", settings=TAGS),
    Case("contents at a page's number",
         [{"x.md": A, "pages/x.md": source("b", Save_as="index2.html", Url="index2.html")}],
         "1 +a +index +index2", settings=EACH),
]  # fmt: skip

UNSURE = [
    Case("a state that does not parse, between two", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": A2}], "1 +a; 3 ~a", 1),
    Case("a state that does not parse, taken back", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": A}], "1 +a", 1),
    Case("a first state that does not parse", [{"x.md": BROKEN}, {"x.md": A}], "2 +a", 1),
    Case("a last state that does not parse", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": None}], "1 +a; 3 -a", 1),
    Case("a state of today that does not parse", [{"x.md": A, "y.md": B}, {"x.md": BROKEN}], "1 +b", 2),
    Case("no title", [{"x.md": "Date: 2024-01-01\n\nText."}, {"x.md": A}], "2 +a", 1),
    Case("no text at all", [{"x.md": ""}, {"x.md": A}], "2 +a", 1),
    Case("not UTF-8", [{"x.md": b"Title: \xff\nDate: 2024-01-01\n"}, {"x.md": A}], "2 +a", 1),
    Case("a listing does not know either", [{"x.md": A, "y.md": B}, {"x.md": BROKEN}, {"x.md": A2}],
         "1 +a +b +c/misc; 3 ~a", 1, settings=CATEGORIES),
    Case("a pointer of Git LFS", [{"images/i": "version 1"}, {"images/i": "version 2"}],
         "1 +images/i; 2 ~images/i"),
    Case("a past article in Git LFS",
         [{"2024-01-01-a.md": "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n"},
          {"2024-01-01-a.md": A}],
         "2 +a", 1, settings={"FILENAME_METADATA": r"(?P<date>\d{4}-\d{2}-\d{2})-(?P<title>.*)"}),
    Case("a static file behind a link", [{"images/i": LinkTo("j"), "images/j": "1", "images/k": "2"},
                                         {"images/j": "3"}, {"images/i": LinkTo("k")}],
         "1 +images/i +images/j +images/k; 2 ~images/j; 3 ~images/i"),
    Case("an article behind a link", [{"x.md": LinkTo("../y.md"), "/y.md": A}, {"/y.md": A2}], "1 +a"),
    Case("an article behind a link that changed", [{"x.md": LinkTo("../y.md"), "/y.md": A, "/z.md": A2},
                                                   {"x.md": LinkTo("../z.md")}], "2 +a", 1),
    Case("a dangling link", [{"x.md": LinkTo("../y.md"), "y.md": B}, {"x.md": A}], "1 +b; 2 +a", 1),
]  # fmt: skip

N = at(ARTICLE="n/{slug}.html")
CERTAINTY = [
    Case("the pattern of URLs changed, and both went on", [{"x.md": A}, conf(**N)], "1 +n/a"),
    Case("a URL of the past is certain since its pattern", [{"x.md": A, "y.md": B}, conf(**N), {"x.md": None}],
         "1 +n/b; 2 +n/a; 3 -n/a"),
    Case("what went before is not certain", [{"x.md": A, "y.md": B}, {"x.md": None}, conf(**N)], "1 +n/b", 1),
    Case("what went with the new pattern is not certain", [{"x.md": A, "y.md": B}, conf({"x.md": None}, **N)],
         "1 +n/b", 1),
    Case("what came with the new pattern", [{"y.md": B}, conf({"x.md": A}, **N), {"x.md": None}],
         "1 +n/b; 2 +n/a; 3 -n/a"),
    Case("what was changed with the new pattern", [{"x.md": A}, conf({"x.md": A2}, **N), {"x.md": None}],
         "2 +n/a; 3 -n/a"),
    Case("what went before and came again", [{"x.md": A}, {"x.md": None}, conf(**N), {"x.md": A}, {"x.md": None}],
         "4 +n/a; 5 -n/a"),
    Case("a pattern that came and went", [{"x.md": A}, conf(**N), conf(**at(ARTICLE="{slug}.html")), {"x.md": None}],
         "3 +a; 4 -a"),
    Case("another kind's pattern does not matter", [{"x.md": A}, conf(**at(PAGE="n/{slug}.html")), {"x.md": None}],
         "1 +a; 3 -a"),
    Case("a pattern of languages does not matter to others",
         [{"x.md": A, "f.md": A_FR}, conf(**at(ARTICLE_LANG="{lang}/{slug}.html")), {"x.md": None}],
         "1 +a +fr/a; 3 -a"),
    Case("a pattern of languages",
         [{"x.md": A, "f.md": A_FR}, conf(**at(ARTICLE_LANG="{lang}/{slug}.html")), {"f.md": None}],
         "1 +a; 2 +fr/a; 3 -fr/a"),
    Case("what says which metadata there is",
         [{"x.md": A}, conf(DEFAULT_CATEGORY="other"), {"x.md": None}], "2 +misc/a; 3 -misc/a",
         settings=at(ARTICLE="misc/{slug}.html")),
    Case("any settings but these do not matter", [{"x.md": A}, conf(SITENAME="Another"), {"x.md": None}], "1 +a; 3 -a"),
    Case("a pattern that is put together", [{"x.md": A}, conf(SITENAME="Another"), {"x.md": None}], "1 +n/a; 3 -n/a",
         settings={"ARTICLE_URL": "n/" + "{slug}.html", "ARTICLE_SAVE_AS": "n/{slug}.html"}),
    Case("the content moved", [{"/content/x.md": A, "/content/y.md": B},
                               conf({"/content/x.md": None, "/content/y.md": None, "/posts/x.md": A, "/posts/y.md": B},
                                    PATH="posts"), {"x.md": None}],
         "2 +a +b; 3 -a"),
    Case("the theme changed", [{"/theme/static/s": "1", "/new/static/t": "1", "/new/static/u": "1"},
                               conf(THEME="new"), {"/new/static/t": None}],
         "1 +theme/u; 2 +theme/t; 3 -theme/t", settings=OWN_THEME),
    Case("paths of one file", [{"images/i": "1", "files/f": "1", "files/g": "1"},
                               conf(STATIC_PATHS=["images", "files"]), {"images/i": None, "files/f": None}],
         "1 +files/g +images/i; 2 +files/f; 3 -files/f -images/i"),
    Case("metadata of one file", [{"images/i": "1", "images/j": "1"},
                                  conf(EXTRA_PATH_METADATA={"images/i": {"path": "icon"}}),
                                  {"images/i": None, "images/j": None}],
         "1 +images/j; 2 +icon; 3 -icon -images/j"),
    Case("metadata of one folder", [{"images/p/i": "1", "images/q/i": "1"},
                                    conf(EXTRA_PATH_METADATA={"images/p": {"path": "icon"}}),
                                    {"images/p/i": None, "images/q/i": None}],
         "1 +images/q/i; 2 +icon; 3 -icon -images/q/i"),
    Case("what was kept out by its name is not named",
         [{"private.md": A, "y.md": B}, {"private.md": None}, conf(IGNORE_FILES=[])],
         "1 +b", 1, settings={"IGNORE_FILES": ["private*"]}),
    Case("what was kept out by its folder is not named",
         [{"private/x.md": A, "open/y.md": B, "open/z.md": C}, {"private/x.md": None, "open/z.md": None},
          conf(ARTICLE_EXCLUDES=[])],
         "1 +b +c; 2 -c", 1, settings={"ARTICLE_EXCLUDES": ["private"]}),
    Case("a static file that was kept out", [{"images/private/i": "1", "images/j": "1"},
                                              {"images/private/i": None, "images/j": None}, conf(STATIC_EXCLUDES=[])],
         "1 +images/j; 2 -images/j", 1, settings={"STATIC_EXCLUDES": ["images/private"]}),
    Case("the pattern of categories changed", [{"k/x.md": A, "l/y.md": B}, conf(**CATEGORIES), {"k/x.md": None}],
         "1 +a +b +c/l; 2 +c/k; 3 -a -c/k", settings=at(CATEGORY="old/{slug}.html")),
    Case("a feed that was elsewhere",
         [{"x.md": tagged("u"), "y.md": tagged("v", title="b")}, conf(TAG_FEED_ATOM="g/{slug}"),
                                       {"x.md": A}],
         "1 +a +b +g/v; 2 +g/u; 3 ~a -g/u", settings={"TAG_FEED_ATOM": "f/{slug}"}),
    Case("another kind of feed does not matter",
         [{"x.md": tagged("u")}, conf(CATEGORY_FEED_ATOM="c/{slug}"), {"x.md": A}],
         "1 +a +c/misc +g/u; 3 ~a ~c/misc -g/u", settings={"TAG_FEED_ATOM": "g/{slug}"}),
    Case("pages were longer",
         [{"x.md": tagged("u"), "y.md": tagged("u", title="b")}, conf(DEFAULT_PAGINATION=1), {"x.md": A, "y.md": B}],
         "1 +a +b +t/u; 2 +t/u2; 3 ~a ~b -t/u -t/u2", settings=TAGS),
    Case("the URL of a listing of today counts from its first source", [{"x.md": A}, conf(**CATEGORIES)],
         "1 +a +c/misc", settings=at(CATEGORY="old/{slug}.html")),
]  # fmt: skip

RST, RST2 = "a\n=\n\n:date: 2024-01-01\n", "b\n=\n\n:date: 2024-01-01\n"
ODD = [
    Case("a page that no pattern can name", [{"x.md": A, "y.md": B}, {"y.md": None}], "1 +a +b +index; 2 -b",
         settings=EACH | {"PAGINATION_PATTERNS": [(1, "{url}", "{save_as}"), (2, "{nothing}", "{nothing}")]}),
    Case("a feed that nobody can name", [{"x.md": A}, {"x.md": tagged("u")}, {"x.md": A}], "1 +a", 1,
         settings={"TAG_FEED_ATOM": "{nothing}"}),
    Case("a feed as in old settings files", [{"x.md": tagged("u")}, {"x.md": A}], "1 +a +f/u; 2 ~a -f/u",
         settings={"TAG_FEED_ATOM": "f/%s"}),
    Case("sources beside the content", [{"/posts/x.rst": RST}, {"/posts/x.rst": RST2}, {"/posts/x.rst": RST}],
         "1 +a; 2 -a +b; 3 +a -b", settings={"ARTICLE_PATHS": ["../posts"]}),
    Case("an order of its own", [{"x.md": A}, {"y.md": B}, {"x.md": None}],
         "1 +a +index; 2 +b ~index +index2; 3 -a -index2",
         settings=EACH | {"ARTICLE_ORDER_BY": "reversed-slug"}),
    Case("an order by what few have", [{"x.md": source("a", Rank="2")}, {"y.md": source("b", Rank="1")}],
         "1 +a +index; 2 +b ~index +index2", settings=EACH | {"ARTICLE_ORDER_BY": "rank"}),
    Case("a slug that leads out of the output", [{"x.md": source("{0}", Slug="../../x")}, {"x.md": A}], "2 +a", 1),
]  # fmt: skip

# With a previous publication: the bytes say what changed, and git when.
AFTERWARDS = [
    Case("an edit, then another commit", [{"x.md": A}, BUILD, {"x.md": A2}, README], "1 +a; 3 ~a"),
    Case("the last of two edits", [{"x.md": A}, BUILD, {"x.md": A2}, {"x.md": A3}, README], "1 +a; 4 ~a"),
    Case("an edit that is taken back is none", [{"x.md": A}, BUILD, {"x.md": A2}, {"x.md": A}], "1 +a"),
    Case("a source that is removed", [{"x.md": A, "y.md": B}, BUILD, {"x.md": None}, {"y.md": B2}],
         "1 +a +b; 3 -a; 4 ~b"),
    Case("a source that moves", [{"x.md": A}, BUILD, {"x.md": B}, README], "1 +a; 3 -a +b"),
    Case("a source that becomes a draft", [{"x.md": A}, BUILD, {"x.md": DRAFT}, README], "1 +a; 3 -a"),
    Case("a source that no longer parses, and goes",
         [{"x.md": A, "y.md": B}, BUILD, {"x.md": BROKEN}, {"x.md": None}, README],
         "1 +a +b; 3 -a"),
    Case("a renamed source", [{"x.md": A}, BUILD, {"x.md": None, "y.md": A}, README], "1 +a"),
    Case("an article, its copy and the index", [{"x.md": A}, BUILD, {"x.md": A2}, README],
         "1 +a +a.text +index; 3 ~a ~a.text; 4 ~index", settings=COPIES | INDEX),
    Case("a static file and one of the theme", [{"images/i": "1", "/theme/static/s": "1"}, BUILD, {"images/i": "2"},
                                                {"/theme/static/s": "2"}, README],
         "1 +images/i +theme/s; 3 ~images/i; 4 ~theme/s", settings=OWN_THEME),
    Case("a template of the theme", [{"x.md": A, "/theme/templates/t.html": "1"}, BUILD,
                                     {"/theme/templates/article.html": "new"}, README],
         "1 +a; 4 ~a", settings=OWN_THEME),
    Case("a template page", [{"t.tpl": "1"}, BUILD, {"t.tpl": "2"}, README], "1 +made; 3 ~made", settings=TEMPLATE),
    Case("another setting", [{"x.md": A}, BUILD, conf(SITENAME="Another"), README], "1 +a; 4 ~a"),
    Case("the same commit, built alike", [{"x.md": A}, BUILD, BUILD], "1 +a"),
    Case("the same commit, built otherwise", [{"x.md": A}, BUILD, Build({"SITENAME": "Another"})], "1 +a; 3b ~a"),
    Case("a merged branch", [{"x.md": A}, BUILD, Branch([{"y.md": B}, {"x.md": A2}]), README], "1 +a; 5 ~a +b"),
    Case("an edit that is not committed", [{"x.md": A}, BUILD, Loose({"x.md": A2})], "1 +a; 4b ~a"),
    Case("an edit that is not committed, after one that is",
         [{"x.md": A, "y.md": B}, BUILD, {"y.md": B2}, Loose({"x.md": A2})],
         "1 +a +b; 3 ~b; 5b ~a"),
]  # fmt: skip

COMMITS = [
    Case("a merge lands at once", [{"x.md": A}, Branch([{"y.md": B}, {"y.md": B2, "z.md": C}])], "1 +a; 4 +b +c"),
    Case("a merge into a line that went on", [{"x.md": A}, Branch([{"x.md": A2}, {"x.md": A}, {"y.md": B}])],
         "1 +a; 5 +b"),
    Case("an edit that is not committed", [{"x.md": A}, Loose({"x.md": A2})], "1 +a; 3b ~a"),
    Case("a new file that is not committed", [{"x.md": A}, Loose({"y.md": B})], "1 +a; 3b +b"),
    Case("a file that is removed and not committed", [{"x.md": A, "y.md": B}, Loose({"x.md": None})], "1 +a +b; 3b -a"),
    Case("a listing of what is not committed", [{"x.md": A}, Loose({"x.md": tagged("u")})],
         "1 +a; 3b ~a +t/u", settings=TAGS),
]  # fmt: skip

NONE: dict[str, Any] = {"RESOURCESYNC": {"history": "none"}}
WITHOUT = {"RESOURCESYNC": {"exclude": ["secret*"]}}
SECRET = source("secret")
OPTIONS = [
    Case("history begins today", [{"x.md": A}, {"x.md": A2}, {"y.md": B}, README], "4 +a +b", settings=NONE),
    Case("and then goes on", [{"x.md": A}, README, BUILD, {"x.md": A2}], "2 +a; 4 ~a", settings=NONE),
    Case("what is excluded is neither listed nor counted", [{"x.md": A, "y.md": SECRET}, {"y.md": None}],
         "1 +a", settings=WITHOUT),
    Case("what is excluded today", [{"x.md": A, "y.md": SECRET}, {"x.md": A2}], "1 +a; 2 ~a", settings=WITHOUT),
]  # fmt: skip

CASES = {
    "sources": SOURCES,
    "moves": MOVES,
    "status": STATUS,
    "listings": LISTINGS,
    "unsure": UNSURE,
    "certainty": CERTAINTY,
    "odd": ODD,
    "commits": COMMITS,
    "options": OPTIONS,
    "afterwards": AFTERWARDS,
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{kind}: {case.name}") for kind, cases in CASES.items() for case in cases]
)
def test_rule(case: Case, tmp_path: Path) -> None:
    """Each history is listed as the rule says, and what is not certain is counted."""
    site = create(tmp_path / "site", case.settings, case.steps)
    days = len(case.steps) + sum(len(step.commits) for step in case.steps if isinstance(step, Branch))
    notes = [] if isinstance(case.steps[-1], Build) else build(site, noon(days + 1))
    assert listed(site) == case.listed
    assert left_out(notes) == case.left_out
