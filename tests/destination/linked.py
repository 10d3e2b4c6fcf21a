"""A Source whose entries link to mirrors and alternates, written by hand."""

from dataclasses import dataclass, field

from tests.kit.sources import FakeSource


@dataclass
class LinkedSource(FakeSource):
    """A Source that serves everything itself; `links` are the `rs:ln` of each path, in every entry but of deletions."""

    links: dict[str, str] = field(default_factory=dict)

    def publish(self) -> None:
        """Let the host serve what there is now."""
        super().publish()
        for name, data in self.published.items():
            if name.startswith("rs/"):
                before, *entries = data.decode().split("<url>")
                self.published[name] = "<url>".join([before, *map(self._linked, entries)]).encode()

    def _linked(self, entry: str) -> str:
        path = entry.partition("</loc>")[0].removeprefix(f"<loc>{self.url}")
        links = "" if 'change="deleted"' in entry else self.links.get(path, "")
        return entry.replace("</url>", f"{links}</url>")


def link(rel: str, href: str, **more: object) -> str:
    """Write a link."""
    attributes = "".join(f' {name}="{value}"' for name, value in more.items())
    return f'<rs:ln rel="{rel}" href="{href}"{attributes}/>'
