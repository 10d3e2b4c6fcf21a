"""How many examples slow tests try: some in each run, and many with `--long`."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings

#: Whether the long campaigns were asked for, which load their profile before tests are collected.
LONG = settings().max_examples > 1_000


def examples(short: int, long: int, *, steps: tuple[int, int] | None = None) -> settings:
    """Return settings for so many examples, or more with `--long`, which also simplifies what fails.

    `steps` are those of a state machine, in either run.
    """
    options: dict[str, Any] = {} if LONG else {"phases": [Phase.explicit, Phase.generate]}
    if steps:
        options["stateful_step_count"] = steps[LONG]
    count = long if LONG else short
    return settings(max_examples=count, deadline=None, suppress_health_check=[*HealthCheck], **options)
