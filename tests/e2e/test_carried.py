"""Carried forward with real git and real Pelican: whatever writers do to a site, all its followers come along.

What `tests/publication/test_carried.py` does to `publish` with many examples is done here to the whole, with some.
"""

from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.publication.support import Source, tree
from tests.publication.watching import Watch
from tests.support.sites import Site, public_files, strip

NAMES = ("a", "b", "c")
LONG = settings().max_examples > 1_000

_names = st.sampled_from(NAMES)
_texts = st.sampled_from(["One.", "Two.", "Three."])
#: The seconds by which a commit's clock is away from that of the one before: most go on, some run wrong.
_clocks = st.integers(1, 5_000_000) | st.integers(-5_000_000, 5_000_000)


class CarriedSite(RuleBasedStateMachine):
    """A site with three articles that come and go beside one that stays."""

    @initialize(by=st.sampled_from(["day", "month", 2, "tag"]), emptied=st.booleans())
    def begin(self, by: str | int, emptied: bool) -> None:
        """Begin with one article, a theme, and nothing published."""
        self.folder = TemporaryDirectory()
        self.site = strip(Site.create(Path(self.folder.name) / "site"))
        self.site.configure(DEFAULT_METADATA={"category": "misc"})  # Pelican writes no draft that has none
        self.site.configure(DELETE_OUTPUT_DIRECTORY=emptied, RESOURCESYNC={"changes_by": by, "allow_deletions": True})
        self.site.article("fixed.md", "Fixed")
        self.clock = 1_700_000_000
        self.site.commit(self.tick(1))
        self.watch = Watch(Source(self.site.output))

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def tick(self, seconds: int) -> str:
        """Return the time of the next commit."""
        self.clock += seconds
        return f"{self.clock} +0000"

    def there(self) -> Iterator[str]:
        """Return the names of the articles that are there, published or not."""
        return (name for name in NAMES if (self.site.folder / f"content/{name}.md").exists())

    @rule(name=_names, text=_texts, status=st.sampled_from(["published", "published", "draft", "hidden"]))
    def save(self, name: str, text: str, status: str) -> None:
        """Add an article, edit it, make a draft of it, or publish a draft."""
        self.site.article(f"{name}.md", name.upper(), text, Slug=name, Status=status)

    @rule(name=_names)
    def remove(self, name: str) -> None:
        """Remove an article."""
        if name in self.there():
            self.site.remove(f"content/{name}.md")

    @rule(name=_names, to=_names)
    def rename(self, name: str, to: str) -> None:
        """Move an article: its text has the address of another from then on."""
        if name in self.there() and to != name:
            text = (self.site.folder / f"content/{name}.md").read_text("utf-8")
            self.site.remove(f"content/{name}.md")
            self.site.write(f"content/{to}.md", text.replace(f"Slug: {name}", f"Slug: {to}"))

    @rule(text=_texts)
    def change_theme(self, text: str) -> None:
        """Change what stands on every page."""
        head = "<head><title>{{ article.title }}</title></head>"
        page = f"<html>{head}<body>{{{{ article.content }}}}{text}</body></html>"
        self.site.write("theme/templates/article.html", page)

    @rule(seconds=_clocks, tagged=st.booleans())
    def commit(self, seconds: int, tagged: bool) -> None:
        """Commit all there is, and perhaps tag it."""
        sha = self.site.commit(self.tick(seconds))
        if tagged:
            self.site.git("tag", "-f", f"v{sha[:7]}")

    @rule(name=_names, text=_texts, seconds=_clocks, back=st.integers(1, 3))
    def merge(self, name: str, text: str, seconds: int, back: int) -> None:
        """Merge a branch that left some commits ago, and whose own commit is older than what it is merged into."""
        self.site.commit(self.tick(1))
        count = int(self.site.git("rev-list", "--count", "--first-parent", "HEAD"))
        self.site.git("checkout", "-q", "-b", "side", f"HEAD~{min(back, count - 1)}")
        self.site.article(f"{name}.md", name.upper(), f"Merged: {text}", Slug=name)
        self.site.commit(f"{self.clock - 1_000_000} +0000")
        self.site.git("checkout", "-q", "main")
        when = self.tick(seconds)
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        try:
            self.site.git("merge", "-q", "--no-ff", "-X", "theirs", "-m", "Merge", "side", **dates)
        except CalledProcessError:  # one side removed what the other edited: it stays
            self.site.git("add", "--all")
            self.site.git("commit", "-q", "--no-edit", **dates)
        self.site.git("branch", "-q", "-D", "side")

    @rule(seconds=_clocks, back=st.integers(1, 2))
    def force_push(self, seconds: int, back: int) -> None:
        """Rewrite history: the last commits are others now."""
        self.site.commit(self.tick(1))
        count = int(self.site.git("rev-list", "--count", "--first-parent", "HEAD"))
        self.site.git("reset", "-q", "--soft", f"HEAD~{min(back, count - 1)}")
        self.site.commit(self.tick(seconds), "Rewrite")

    @rule()
    def publish(self) -> None:
        """Build and publish, look at it, and build the very same again."""
        self.site.build()
        self.watch.look(self.resources())
        before = tree(self.site.output / "resourcesync")
        self.site.build()
        assert tree(self.site.output / "resourcesync") == before

    @precondition(lambda self: self.watch.past)
    @rule()
    def publish_as_ci_does(self) -> None:
        """Build a fresh clone into nothing, with the last publication in a folder of its own, as a checkout has it."""
        self.site.commit(self.tick(1))
        published = Path(self.folder.name) / f"published{len(self.watch.past)}"
        self.site.output.rename(published)
        self.site.git("clean", "-fdxq")
        self.site.build(RESOURCESYNC={**self.site.settings["RESOURCESYNC"], "previous": str(published)})
        self.watch.look(self.resources())

    def resources(self) -> dict[str, bytes]:
        """Return what the build wrote for everyone, by path."""
        files, hidden = public_files(self.site.output), self.hidden()
        return {path: data for path, data in files.items() if not path.startswith("drafts/") and path not in hidden}

    def hidden(self) -> set[str]:
        """Return the pages of hidden articles, and what a build before has left where nothing is cleaned."""
        status = {
            name: (self.site.folder / f"content/{name}.md").read_text("utf-8").partition("Status: ")[2].split("\n")[0]
            for name in self.there()
        }
        return {f"{name}.html" for name in NAMES if status.get(name, "gone") not in ("published", "")}


TestCarriedSite = CarriedSite.TestCase
TestCarriedSite.settings = settings(
    max_examples=200 if LONG else 8, stateful_step_count=30 if LONG else 12, deadline=None
)
