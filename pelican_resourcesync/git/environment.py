"""The environment that git runs in: the same output on every machine, and no prompts."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import git

#: Git must not take optional locks, prompt, translate its messages, or apply replacements and grafts, which exist on
#: this machine only.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


def prepared(repo: "git.Repo") -> "git.Git":
    """Return a git runner for this repository only. In a hook, the environment would name the hook's repository."""
    folder = Path(os.path.realpath(repo.git_dir))
    own = {"GIT_DIR": folder, "GIT_INDEX_FILE": folder / "index", "GIT_WORK_TREE": repo.working_tree_dir}
    named = {name for name in own if name in os.environ}
    if "GIT_DIR" in named:
        named.add("GIT_WORK_TREE")  # else git would use the current folder
    repo.git.update_environment(**_ENVIRONMENT, **{name: os.path.realpath(str(own[name])) for name in named})
    return repo.git
