"""The account of the commits: how many were asked about, how many built, and which were left out and why."""

from dataclasses import dataclass

from tests.truth.steps import built, walk
from tests.truth.truth import Truth, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was done with the commits of a window; `failed` are those without an output of their own, with the reason.

    Of these some are `folded` into the next one that builds, others stand `apart`.
    """

    asked: int
    builds: int
    errors: int
    folded: int
    apart: int
    failed: dict[str, str]


def account(truth: Truth, window: Window) -> Account:
    """Return the account of a window."""
    walked = walk(truth, window)
    builds = [truth.builds[sha] for sha in window.needed if sha in truth.builds]
    found = {commit.sha: built(truth, window, commit) for commit in window.commits}
    return Account(
        asked=len(window.commits),
        builds=sum(build.reason is None for build in builds),
        errors=sum(build.errors > 0 for build in builds if build.reason is None),
        folded=sum(len(step.commits) - 1 for step in walked.steps),
        apart=len(walked.apart),
        failed={sha: build.reason for sha, build in found.items() if build.reason is not None},
    )
