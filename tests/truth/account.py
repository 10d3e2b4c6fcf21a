"""The account of the commits: how many were asked about, how many built, and which were left out and why."""

from dataclasses import dataclass

from tests.truth.steps import built
from tests.truth.truth import Truth, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was done with the commits of a window; `failed` are those without an output, with the reason."""

    asked: int
    builds: int
    errors: int
    failed: dict[str, str]


def account(truth: Truth, window: Window) -> Account:
    """Return the account of a window."""
    builds = [truth.builds[sha] for sha in window.needed if sha in truth.builds]
    found = {commit.sha: built(truth, window, commit) for commit in window.commits}
    return Account(
        asked=len(window.commits),
        builds=sum(build.reason is None for build in builds),
        errors=sum(build.errors > 0 for build in builds if build.reason is None),
        failed={sha: build.reason for sha, build in found.items() if build.reason is not None},
    )
