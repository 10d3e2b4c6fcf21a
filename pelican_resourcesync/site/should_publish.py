"""The decision whether a build publishes at all."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Environment variables that hosts set in preview builds, with a regular expression for the whole value.
PREVIEWS = {
    "CONTEXT": "deploy-preview|branch-deploy|preview-server|dev",  # Netlify
    "VERCEL_ENV": "preview|development",
    "IS_PULL_REQUEST": "true",  # Render
    "PULL_REQUEST": "true",  # Netlify, and others
    "READTHEDOCS_VERSION_TYPE": "external",
    "GITHUB_EVENT_NAME": "pull_request|pull_request_target|merge_group",
    "CI_PIPELINE_SOURCE": "merge_request_event|external_pull_request_event",  # GitLab
    "AWS_PULL_REQUEST_ID": ".+",  # Amplify
}


def why_not_to_publish(
    *, enabled: bool, siteurl: str, environment: Mapping[str, str], arguments: Sequence[str]
) -> str | None:
    """Return the reason why a build publishes nothing and leaves what is there unchanged; `None` where it publishes.

    `arguments` are the process's arguments, including the program name: `pelican --listen` is for local drafts.
    """
    if not enabled:
        return "it is not enabled"
    if not siteurl:
        return "SITEURL is empty, so there are no URIs to publish"
    if _listens(arguments):
        return "the output is served as it is built (--listen)"
    for name, values in PREVIEWS.items():
        if re.fullmatch(values, environment.get(name, "")):
            return f"this is a preview ({name} is {environment[name]!r})"
    return None


def _listens(arguments: Sequence[str]) -> bool:
    """Return whether the process is the command `pelican` with the option `--listen`."""
    program, *options = arguments or [""]
    is_pelican = Path(program).stem == "pelican" or Path(program).parts[-2:] == ("pelican", "__main__.py")
    return is_pelican and any(re.fullmatch(r"--li(s|st|ste|sten)?|-[vqDdr]*l.*", each) for each in options)
