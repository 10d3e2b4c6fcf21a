"""Rules: small functions, each with an identifier, level, sentence and source."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pelican_resourcesync.check.findings import Finding, Level

Check = Callable[..., Any]
MUST, SHOULD = Level.MUST, Level.SHOULD


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One check of one rule of the standard; a rule with several requirements has several checks.

    `identifier` is its name in `requirements.md` and in messages. `scope` determines the arguments of `check` (see
    `Book`). `on` restricts the check to some capabilities, `index` to indexes or to documents that are not indexes,
    and `editions` to some editions.

    Most entries of a document have the same attributes and nothing unusual, and need few rules. `needs` holds
    attributes of an `rs:md`, or `lastmod` and `unusual` of an `Item`: entries with none of them are not checked.
    `by_names` means that the result depends only on the attribute names of the `rs:md`.
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
        """Return a finding of this rule."""
        asks = f"{self.sentence} [{self.source}]"
        return Finding(self.identifier, self.level, document, line, message, asks, entry)

    def applies(self, capability: str, *, index: bool, edition: int | None) -> bool:
        """Return whether the rule applies to documents of this kind."""
        return (
            (not self.on or capability in self.on)
            and self.index in (None, index)
            and edition in self.editions
        )  # fmt: skip


@dataclass(slots=True)
class Book:
    """The rules of one module, in the order in which they are defined.

    The scopes, with the arguments and the return value of their functions:

    - `unreadable`: an `UnreadableError` and the `Head`; a message or None
    - `head`: a `Doc`, after all of it was read; messages with their lines
    - `entry`: an `Item` and the `Doc`; a message or None
    - `md`: the `rs:md` of an entry, the `Item` and the `Doc`; a message or None
    - `link`: an `rs:ln` of an entry, the `Item` and the `Doc`; a message or None
    - `edge`: an `Edge` between two documents, and the `Walk`; a message or None
    - `pair`: a `Sums` about two snapshots and the changes between them; document numbers, lines and messages
    - `source`: a `Walk` with everything that was visited; documents, lines and messages
    - `package`: a `Package` with its manifest; a message or None
    - `member`: a `Member` that an entry of the manifest names; a message or None
    - `resource`: a listed `Resource` with what is at its `loc`; a message or None
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
        """Return a decorator that registers a function as a rule."""

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
