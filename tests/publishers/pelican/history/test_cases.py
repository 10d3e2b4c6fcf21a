"""The rule as a table: what happened to a site, and what is listed of it, as `docs/history.md` says."""

from pathlib import Path
from typing import Any

import pytest

from tests.publishers.pelican.history.cases import (
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
OTHERWISE = conf(SITENAME="Another")


def tagged(*tags: str, title: str = "a", **metadata: str) -> str:
    """Return an article with tags."""
    return source(title, Tags=", ".join(tags), **metadata)


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
    Case("a template page that is no longer in the settings is not known",
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
    Case("another slug", [{"x.md": A}, {"x.md": source("a", Slug="b")}], "1 +b; 2 ~b"),
    Case("another title", [{"x.md": A}, {"x.md": B}], "1 +b; 2 ~b"),
    Case("another title, and the source goes", [{"x.md": A}, {"x.md": B}, {"x.md": None}], "1 +b; 2 ~b; 3 -b"),
    Case("a rename with another slug", [{"x.md": A}, {"x.md": None, "y.md": B}], "1 +a; 2 -a +b"),
    Case("a rename that keeps the URL, and another slug", [{"x.md": A}, {"x.md": None, "y.md": A}, {"y.md": B}],
         "1 +b; 3 ~b"),
    Case("a rename that keeps the URL, before the settings change",
         [{"x.md": A}, {"x.md": None, "y.md": A}, OTHERWISE], "1 +a"),
    Case("a renamed source that goes", [{"x.md": A}, {"x.md": None, "y.md": A2}, {"y.md": None}],
         "1 +a; 2 ~a; 3 -a"),
    Case("two renames", [{"x.md": A, "y.md": B}, {"x.md": None, "y.md": None, "v.md": A, "w.md": B2}],
         "1 +a +b; 2 ~b"),
    Case("another source takes the URL of a draft, before the settings change",
         [{"x.md": A}, {"x.md": DRAFT, "y.md": A2}, OTHERWISE], "2 +a"),
    Case("another source takes the URL later", [{"x.md": A}, {"x.md": None}, {"y.md": A}], "1 +a; 2 -a; 3 +a"),
    Case("another category", [{"old/x.md": A}, {"old/x.md": None, "new/x.md": A}],
         "1 +old/a; 2 +c/new +new/a -old/a", settings=FOLDERS),
    Case("another date", [{"x.md": A}, {"x.md": source("a", Date="2023-05-05")}],
         "1 +2023/a; 2 ~2023/a", settings=YEARS),
    Case("two that change places", [{"x.md": A, "y.md": B}, {"x.md": B, "y.md": A}], "1 +a +b; 2 ~a ~b"),
    Case("two of one URL, of which one goes", [{"x.md": A}, {"y.md": A2}, {"x.md": None}], "1 +a; 2 ~a; 3 ~a"),
    Case("an article becomes a page", [{"x.md": A}, {"x.md": None, "pages/x.md": A}], "1 +a; 2 -a +pages/a"),
    Case("a rename of the case alone",
         [{"X.md": A, "images/I": "1"}, {"X.md": None, "images/I": None, "x.md": A, "images/i": "1"}],
         "1 +a +images/I; 2 -images/I +images/i"),
    Case("a file becomes a folder", [{"images/i": "1", "x.md": A},
                                     {"images/i": None, "x.md": None, "images/i/j": "1", "x.md/y.md": B}],
         "1 +a +images/i; 2 -a +b -images/i +images/i/j"),
    Case("an article is kept apart", [{"x.md": A}, {"x.md": source("a", Save_as="s.html", Url="s.html")}],
         "1 +s; 2 ~s"),
]  # fmt: skip

WAIT = {"WITH_FUTURE_DATES": False}
LATER = source("a", Date="2024-01-03")

#: docutils knows no such directive, and Pelican publishes no source with an error in it.
REJECTED = "Rejected\n########\n\n:date: 2024-01-01\n:slug: a\n\n.. nosuchdirective::\n"

STATUS = [
    Case("a source that Pelican rejects may always have been rejected",
         [{"x.rst": REJECTED}, {"x.rst": REJECTED.replace("slug: a", "slug: b"), "y.md": source("c")}],
         "2 +c"),
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

AT_THE_INDEX = source("a", Save_as="index.html", Url="index.html")
INDEX = {"DIRECT_TEMPLATES": ["index"]}
TAGS = at(TAG="t/{slug}.html")
LISTINGS = [
    Case("an index and feeds date from the commit that is built",
         [{"x.md": A}, {"x.md": A2}, README], "1 +a; 2 ~a; 3 +/ +all", settings=INDEX | {"FEED_ALL_ATOM": "all"}),
    Case("the listing of a tag that is gone is not named", [{"x.md": tagged("u")}, {"x.md": tagged("v")}],
         "1 +a; 2 ~a +t/v", settings=TAGS),
    Case("a page at the URL of a source that is gone", [{"x.md": AT_THE_INDEX}, {"x.md": None}, README],
         "1 +/; 2 -/; 3 +/", settings=INDEX),
    Case("a translation", [{"x.md": A}, {"f.md": A_FR}, {"f.md": A_FR + "Plus."}, {"f.md": None}],
         "1 +a; 2 +a-fr; 3 ~a-fr; 4 -a-fr"),
]  # fmt: skip

NAMES = {"FILENAME_METADATA": r"(?P<date>\d{4}-\d{2}-\d{2})-(?P<title>.*)"}
UNREAD = [
    Case("a version that does not parse, between two", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": A2}], "3 +a"),
    Case("a version that does not parse, taken back", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": A}], "3 +a"),
    Case("versions before one that does not parse", [{"x.md": A}, {"x.md": A2}, {"x.md": BROKEN}, {"x.md": A3}],
         "4 +a"),
    Case("a first version that does not parse", [{"x.md": BROKEN}, {"x.md": A}], "2 +a"),
    Case("a last version that does not parse", [{"x.md": A}, {"x.md": BROKEN}, {"x.md": None}], ""),
    Case("a version of today that does not parse", [{"x.md": A, "y.md": B}, {"x.md": BROKEN}], "1 +b"),
    Case("no title", [{"x.md": "Date: 2024-01-01\n\nText."}, {"x.md": A}], "2 +a"),
    Case("no text at all", [{"x.md": ""}, {"x.md": A}], "2 +a"),
    Case("not UTF-8", [{"x.md": b"Title: \xff\nDate: 2024-01-01\n"}, {"x.md": A}], "2 +a"),
    Case("a pointer of Git LFS", [{"images/i": "version 1"}, {"images/i": "version 2"}],
         "1 +images/i; 2 ~images/i"),
    Case("a past article in Git LFS",
         [{"2024-01-01-a.md": "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n"},
          {"2024-01-01-a.md": A}],
         "2 +a", settings=NAMES),
    Case("a static file behind a link", [{"images/i": LinkTo("j"), "images/j": "1", "images/k": "2"},
                                         {"images/j": "3"}, {"images/i": LinkTo("k")}],
         "1 +images/i +images/j +images/k; 2 ~images/j; 3 ~images/i"),
    Case("an article behind a link", [{"x.md": LinkTo("../y.md"), "/y.md": A}, {"/y.md": A2}], "1 +a"),
    Case("an article behind a link that changed", [{"x.md": LinkTo("../y.md"), "/y.md": A, "/z.md": A2},
                                                   {"x.md": LinkTo("../z.md")}], "2 +a"),
    Case("a draft behind a link", [{"2024-01-01-a.md": LinkTo("../d.md"), "/d.md": DRAFT}, {"2024-01-01-a.md": None}],
         "", settings=NAMES),
    Case("a dangling link", [{"x.md": LinkTo("../y.md"), "y.md": B}, {"x.md": A}], "1 +b; 2 +a"),
]  # fmt: skip

N = at(ARTICLE="n/{slug}.html")
SETTINGS = [
    Case("the pattern of URLs changed", [{"x.md": A}, conf(**N)], "1 +n/a"),
    Case("a source that went after the settings changed", [{"x.md": A, "y.md": B}, conf(**N), {"x.md": None}],
         "1 +n/a +n/b; 3 -n/a"),
    Case("one that went before", [{"x.md": A, "y.md": B}, {"x.md": None}, conf(**N)], "1 +n/b"),
    Case("one that went with the change", [{"x.md": A, "y.md": B}, conf({"x.md": None}, **N)], "1 +n/b"),
    Case("one that went before and came again", [{"x.md": A}, {"x.md": None}, OTHERWISE, {"x.md": A}, {"x.md": None}],
         "4 +a; 5 -a"),
    Case("one that was a draft before", [{"x.md": A}, {"x.md": DRAFT}, OTHERWISE, {"x.md": A2}], "4 +a"),
    Case("any setting counts", [{"x.md": A, "y.md": B}, {"x.md": None}, OTHERWISE], "1 +b"),
    Case("the content moved", [{"/content/x.md": A, "/content/y.md": B},
                               conf({"/content/x.md": None, "/content/y.md": None, "/posts/x.md": A, "/posts/y.md": B},
                                    PATH="posts"), {"x.md": None}],
         "2 +a +b; 3 -a"),
    Case("what was kept out by its name is not named",
         [{"private.md": A, "y.md": B}, {"private.md": None}, conf(IGNORE_FILES=[])],
         "1 +b", settings={"IGNORE_FILES": ["private*"]}),
    Case("nor what is kept out", [{"private.md": A, "y.md": B}, {"private.md": None}],
         "1 +b", settings={"IGNORE_FILES": ["private*"]}),
    Case("nor what is in a folder that is kept out",
         [{"private/x.md": A, "open/y.md": B, "open/z.md": C}, {"private/x.md": None, "open/z.md": None}],
         "1 +b +c; 2 -c", settings={"ARTICLE_EXCLUDES": ["private"]}),
    Case("nor a static file that is kept out", [{"images/private/i": "1", "images/j": "1"},
                                                {"images/private/i": None, "images/j": None}],
         "1 +images/j; 2 -images/j", settings={"STATIC_EXCLUDES": ["images/private"]}),
    Case("nor a hidden file", [{"images/.secret": "1", "images/j": "1"}, {"images/.secret": None, "images/j": None}],
         "1 +images/j; 2 -images/j"),
]  # fmt: skip

#: A picture that a draft attaches is published beside the draft, and nowhere else.
ATTACHED = source("b", "![]({attach}images/i)", Status="draft")
RELIABLE = [
    Case("a file that a draft attached", [{"d.md": ATTACHED, "images/i": "1", "images/j": "1"},
                                          {"d.md": None, "images/i": None, "images/j": None}], ""),
    Case("a file that a draft attaches", [{"d.md": ATTACHED, "images/i": "1", "images/j": "1"}, {"images/j": None}],
         ""),
    Case("a file, while only contents attach none", [{"x.md": A, "images/j": "1"}, {"images/j": None}],
         "1 +a +images/j; 2 -images/j"),
]  # fmt: skip

RST, RST2 = "a\n=\n\n:date: 2024-01-01\n", "b\n=\n\n:date: 2024-01-01\n"
ODD = [
    Case("sources beside the content", [{"/posts/x.rst": RST}, {"/posts/x.rst": RST2}, {"/posts/x.rst": None}],
         "1 +b; 2 ~b; 3 -b", settings={"ARTICLE_PATHS": ["../posts"]}),
    Case("a status in another format", [{"x.rst": RST + ":status: draft\n"}, {"x.rst": RST}], "2 +a"),
    Case("a status of a page in HTML",
         [{"pages/x.html": '<html><head><title>a</title><meta name="status" content="draft"></head></html>'},
          {"pages/x.html": "<html><head><title>a</title></head></html>"}], "2 +pages/a"),
    Case("a text with the word status", [{"x.md": A}, {"x.md": source("a", "The status of it.")}], "1 +a; 2 ~a"),
    Case("line ends of another system", [{"x.md": A.replace("\n", "\r\n")}, {"x.md": None}], "1 +a; 2 -a"),
    Case("a slug that leads out of the output", [{"x.md": source("{0}", Slug="../../x")}, {"x.md": None}], ""),
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
         "1 +/ +a +a.text; 3 ~a ~a.text; 4 ~/", settings=COPIES | INDEX),
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
    "unread": UNREAD,
    "settings": SETTINGS,
    "reliable": RELIABLE,
    "odd": ODD,
    "commits": COMMITS,
    "options": OPTIONS,
    "afterwards": AFTERWARDS,
}


@pytest.mark.promise("The past, by a rule")
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{kind}: {case.name}") for kind, cases in CASES.items() for case in cases]
)
def test_rule(case: Case, tmp_path: Path) -> None:
    """Each history is listed as the rule says."""
    site = create(tmp_path / "site", case.settings, case.steps)
    days = len(case.steps) + sum(len(step.commits) for step in case.steps if isinstance(step, Branch))
    if not isinstance(case.steps[-1], Build):
        build(site, noon(days + 1))
    assert listed(site) == case.listed
