"""Views: what is taken to be shown, of which contents, under which settings."""

from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import (
    ALL,
    COUNTED,
    IN_MENU,
    UNSEEN,
    Beside,
    Group,
    Shown,
    View,
    views_under,
    words_of,
)

TITLES = Shown(words=0)
PAGES, CATEGORIES = Beside(Group.PAGES, shown=TITLES), Beside(Group.CATEGORIES)
RECENT = Beside(Group.ARTICLES, 3, Shown(words=20))


def test_what_is_not_known_is_all() -> None:
    """Of a role of which no page told, and of a template of which there is no page, all is taken to be shown."""
    view = View({Role.ARTICLE: COUNTED})
    assert view.of(Role.ARTICLE) == COUNTED
    assert view.of(Role.PAGE) == UNSEEN.of(Role.ARTICLE) == ALL == Shown(named=True, words=None)
    assert (UNSEEN.beside, UNSEEN.first) == ((), None)


def test_words() -> None:
    """The excerpts that matter are those that some page shows, listed or beside; none and all are no excerpts."""
    views = {
        "index": View({Role.ARTICLE: Shown(words=50), Role.PAGE: TITLES}, (RECENT, PAGES)),
        "article": View({Role.ARTICLE: ALL}, (RECENT, Beside(Group.OLDER, shown=Shown(words=7)))),
    }
    assert words_of(views) == {50, 20, 7}
    assert words_of({}) == set()


def test_menu_that_the_settings_showed_not_yet() -> None:
    """What Pelican's settings put into menus today was not there when they did not, and the other way round."""
    views = {"index": View({Role.ARTICLE: TITLES}, (PAGES, RECENT), first=2), "page": View(beside=(CATEGORIES, PAGES))}
    both = {"DISPLAY_PAGES_ON_MENU": True, "DISPLAY_CATEGORIES_ON_MENU": True}
    assert views_under(views, both, both) is views
    assert views_under(views, both, {**both, "DISPLAY_PAGES_ON_MENU": False}) == {
        "index": View({Role.ARTICLE: TITLES}, (RECENT,), first=2),
        "page": View(beside=(CATEGORIES,)),
    }
    assert views_under(views, both, {}) == {"index": View({Role.ARTICLE: TITLES}, (RECENT,), first=2), "page": View()}


def test_menu_that_the_settings_show_no_more() -> None:
    """Then its words were those of any menu: titles."""
    views = {"index": View({Role.ARTICLE: TITLES}, (RECENT,))}
    menu = {"DISPLAY_PAGES_ON_MENU": True, "DISPLAY_CATEGORIES_ON_MENU": True}
    assert views_under(views, {"DISPLAY_CATEGORIES_ON_MENU": True}, menu) == {
        "index": View({Role.ARTICLE: TITLES}, (RECENT, Beside(Group.PAGES, shown=IN_MENU)))
    }
    assert IN_MENU.words == 0
    assert "title" not in IN_MENU.without
