"""Links between sources (`{filename}…`): a page shows the URL of the source that it links to."""

from collections import defaultdict

from pelican_resourcesync.site.content import Content


class Links:
    """Which contents link to which sources, and where these sources are published."""

    def __init__(self) -> None:
        """Begin with none."""
        self._there: dict[str, dict[Content, None]] = defaultdict(dict)
        self._from: dict[str, dict[Content, None]] = defaultdict(dict)
        self._moved: set[str] = set()
        self._named: set[str] = set()

    def add(self, content: Content) -> None:
        """Take in a content, which may be linked to, and may link to others."""
        self._there[content.source][content] = None
        self._moved.add(content.source)
        for target in content.refers:
            self._from[target][content] = None
        self._named.update(content.refers)

    def remove(self, content: Content) -> None:
        """Let go of a content."""
        self._there[content.source].pop(content)
        self._moved.add(content.source)
        for target in content.refers:
            self._from[target].pop(content)
        self._named.update(content.refers)

    def moved(self) -> set[Content]:
        """Give the contents that link to a source which may be elsewhere since the last call, and those linked anew."""
        moved = {content for source in self._moved for content in self._from.get(source, ())}
        moved |= {content for source in self._named for content in self._there.get(source, ())}
        self._moved.clear()
        self._named.clear()
        return moved

    def lead_to(self, content: Content) -> bool:
        """Tell whether some content links to this one."""
        return bool(self._from.get(content.source))

    def of(self, content: Content) -> tuple[str, ...]:
        """Give the URLs to which the links of a content lead: nothing where no such source is published."""
        return tuple(self._uri(target) for target in content.refers)

    def _uri(self, target: str) -> str:
        return next((content.uri for content in self._there.get(target, ())), "")
