"""The decision whether a build publishes at all. It imports nothing that publishes, so that other builds stay fast."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pelican_resourcesync.system import WORK_FOLDER

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
DISABLED = "the setting 'enabled' is false"
NO_ADDRESS = "SITEURL is empty (pelican-quickstart sets it in publishconf.py, for make publish)"

#: Where the page for people is, below `SITEURL`: the template variable `RESOURCESYNC_URL` of a build that publishes.
PAGE_URL = "resourcesync/"
#: The files of a publication in an output.
_PUBLISHED = ("resourcesync", ".well-known", "sitemap*.xml", f"{WORK_FOLDER}*")


def why_not_to_publish(
    settings: Mapping[str, Any], environment: Mapping[str, str], arguments: Sequence[str]
) -> str | None:
    """Return the reason why a build publishes nothing and leaves what is there unchanged; `None` where it publishes.

    `settings` are Pelican's, not checked yet. `arguments` are the process's arguments, including the program name:
    `pelican --listen` and `--autoreload` are for local drafts.
    """
    own = settings.get("RESOURCESYNC")
    if isinstance(own, Mapping) and own.get("enabled") is False:
        return DISABLED
    if _is_local(arguments):
        return "this is a preview (--autoreload or --listen)"
    return why_preview(environment) or (None if settings.get("SITEURL") else NO_ADDRESS)


def why_preview(environment: Mapping[str, str]) -> str | None:
    """Return how the environment says that this is a preview, which is not published; `None` where it does not."""
    for name, values in PREVIEWS.items():
        if re.fullmatch(values, environment.get(name, "")):
            return f"this is a preview ({name} is {environment[name]!r})"
    return None


def published_names(output: Path) -> list[str]:
    """Return the names in an output that may belong to a publication, finished or not, and have to be kept."""
    names = [file.name for file in output.iterdir()] if output.is_dir() else []
    return [name for name in names if any(fnmatch(name, pattern) for pattern in _PUBLISHED)]


def _is_local(arguments: Sequence[str]) -> bool:
    """Return whether the process is the command `pelican` with the option `--listen` or `--autoreload`."""
    program, *options = arguments or [""]
    is_pelican = Path(program).stem == "pelican" or Path(program).parts[-2:] == ("pelican", "__main__.py")
    return is_pelican and any(re.fullmatch(r"--li(s|st|ste|sten)?|--a\w*|-[vqDd]*[lr].*", option) for option in options)
