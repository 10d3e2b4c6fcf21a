"""What a rule is: a small function with its identifier, level, sentence and source."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pelican_resourcesync.check.findings import Finding, Level

Check = Callable[..., Any]
MUST, SHOULD = Level.MUST, Level.SHOULD


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One check of one rule of the standard; a rule that asks for several things has several of these.

    `identifier` is its name in `requirements.md` and in messages. `scope` says what `check` is given (see `Book`), and
    `on` and `index` to which capabilities and kinds of document it applies; `editions`, to which editions.

    Most entries of a document have the same attributes and nothing unusual, and need few rules. `needs` are attributes
    of an `rs:md`, or `lastmod` and `unusual` of an `Item`: where none of them is there, there is nothing to judge.
    `by_names` says that the names of an `rs:md`'s attributes alone decide.
    """

    identifier: str
    level: Level
    sentence: str
    source: str
    scope: str
    check: Check
    on: frozenset[str] = frozenset()
    index: bool | None = None
    editions: frozenset[int | None] = frozenset((2014, 2017, None))
    needs: frozenset[str] = frozenset()
    by_names: bool = False

    def finding(self, document: str, line: int | None, message: str, entry: str = "") -> Finding:
        """Make a finding of this rule."""
        asks = f"{self.sentence} [{self.source}]"
        return Finding(self.identifier, self.level, document, line, message, asks, entry)

    def applies(self, capability: str, *, index: bool, edition: int | None) -> bool:
        """Tell whether documents of this kind are to be held to this rule."""
        return (
            (not self.on or capability in self.on)
            and self.index in (None, index)
            and edition in self.editions
        )  # fmt: skip


@dataclass(slots=True)
class Book:
    """The rules of one module, in the order in which they are written down.

    Scopes, what their functions take and what they give back:

    - `unreadable`: an `UnreadableError` and the `Head`; a message or None
    - `head`: a `Doc`, when all of it was read; messages with their lines
    - `entry`: an `Item` and the `Doc`; a message or None
    - `md`: the `rs:md` of an entry, the `Item` and the `Doc`; a message or None
    - `link`: an `rs:ln` of an entry, the `Item` and the `Doc`; a message or None
    - `edge`: an `Edge`, two documents of which one names the other; a message or None
    - `pair`: a `Sums`, of two snapshots with the changes between them; numbers of documents, lines and messages
    - `source`: a `Walk`, all that was visited; documents, lines and messages
    - `package`: a `Package`, with its manifest; a message or None
    - `member`: a `Member`, which an entry of the manifest names; a message or None
    - `resource`: a `Resource`, a listed one with what is at its `loc`; a message or None
    """

    rules: list[Rule] = field(default_factory=list)

    def __call__(
        self,
        scope: str,
        identifier: str,
        level: Level,
        sentence: str,
        source: str,
        **options: Any,
    ) -> Callable[[Check], Check]:
        """Make the decorator that enters a function as a rule."""

        def enter(check: Check) -> Check:
            given: dict[str, Any] = {
                name: value if name in ("index", "by_names") else frozenset(value) for name, value in options.items()
            }
            self.rules.append(
                Rule(
                    identifier=identifier,
                    level=level,
                    sentence=sentence,
                    source=source,
                    scope=scope,
                    check=check,
                    **given,
                )
            )
            return check

        return enter

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)
