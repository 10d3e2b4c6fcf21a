"""A small site whose every change is known by hand."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.kit.sites import Site, strip

_BEGIN = datetime(2024, 1, 1, 10, tzinfo=UTC)

#: What the site's history really does: number of the commit, kind, path. Commit 5 does not build, so what it did is
#: seen at commit 6.
EXPECTED = [
    (0, "created", "about.html"),
    (0, "created", "category/misc.html"),
    (0, "created", "first.html"),
    (0, "created", "images/dot.svg"),
    (0, "created", "second.html"),
    (1, "updated", "first.html"),
    (3, "updated", "category/misc.html"),
    (3, "created", "deux.html"),
    (3, "deleted", "second.html"),
    (4, "updated", "category/misc.html"),
    (4, "created", "shy.html"),
    (6, "updated", "category/misc.html"),
    (6, "updated", "first.html"),
    (6, "created", "third.html"),
    (7, "deleted", "images/dot.svg"),
    (8, "updated", "category/misc.html"),
    (8, "deleted", "deux.html"),
]


def time_of(number: int) -> datetime:
    """Return the landing time of a commit: a day each, but the clock of commit 7 stood still, and 8 is of midnight."""
    odd = {7: timedelta(days=6, milliseconds=1), 8: timedelta(days=7, hours=14, milliseconds=1)}
    return _BEGIN + odd.get(number, timedelta(days=number))


class History:
    """The site as it is written, commit by commit."""

    def __init__(self, folder: Path) -> None:
        """Make the repository, with nothing committed."""
        self.site = strip(Site.create(folder))
        self.commits: list[str] = []
        link = '<a href="{{ SITEURL }}/{{ article.url }}">{{ article.title }}</a>'
        self.site.write("theme/templates/category.html", f"{{% for article in articles %}}{link}{{% endfor %}}")
        self.site.write("theme/templates/page.html", "<html><head></head><body>{{ page.content }}</body></html>")
        self.configure()

    def configure(self, more: str = "") -> None:
        """Write the settings file, with more at its end."""
        self.site.configure(PAGE_URL="{slug}.html", PAGE_SAVE_AS="{slug}.html", CATEGORY_SAVE_AS="category/{slug}.html")
        file = self.site.folder / "pelicanconf.py"
        file.write_text(file.read_text() + more)

    def commit(self) -> None:
        """Commit what there is, by a clock that is not always right."""
        shown = {7: _BEGIN + timedelta(days=6), 8: _BEGIN + timedelta(days=7, hours=14)}
        time = shown.get(len(self.commits), _BEGIN + timedelta(days=len(self.commits)))
        self.commits.append(self.site.commit(time.isoformat()))


def make_site(folder: Path) -> list[str]:
    """Make the site's repository and give the names of its commits."""
    history = History(folder)
    _publish(history)
    _stumble(history)
    return history.commits


def _publish(history: History) -> None:
    """Write what commits 0 to 4 hold."""
    site = history.site
    site.write("content/pages/about.md", "Title: About\n\nUs.\n")
    site.write("content/images/dot.svg", "<svg/>")
    site.article("first.md", "First")
    site.article("second.md", "Second")
    site.article("shy.md", "Shy", Status="draft")
    site.article("secret.md", "Secret", Status="hidden")
    history.commit()
    site.article("first.md", "First", "Other text.")
    history.commit()
    site.git("mv", "content/first.md", "content/one.md")
    history.commit()
    site.article("second.md", "Second", Slug="deux")
    site.article("secret.md", "Secret", "Other text.", Status="hidden")
    history.commit()
    site.article("shy.md", "Shy")
    history.commit()


def _stumble(history: History) -> None:
    """Write what commits 5 to 8 hold, of which the first does not build."""
    site = history.site
    history.configure("raise ValueError('a slip')\n")
    site.article("third.md", "Third")
    history.commit()
    history.configure()
    site.article("one.md", "First", "A third text.")
    history.commit()
    site.remove("content/images/dot.svg")
    history.commit()
    site.remove("content/second.md")
    history.commit()
