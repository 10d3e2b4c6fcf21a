"""The environment that git runs in: the same answers on every machine, and no questions."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import git

#: Git must neither lock, nor ask, nor speak another language, nor replace a commit or its parents by others, which are
#: known on this machine alone.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


def prepared(repo: "git.Repo") -> "git.Git":
    """Give what runs git for a repository, and for no other: in a hook, the environment names that of the hook."""
    folder = Path(os.path.realpath(repo.git_dir))
    own = {"GIT_DIR": folder, "GIT_INDEX_FILE": folder / "index", "GIT_WORK_TREE": repo.working_tree_dir}
    named = {name for name in own if name in os.environ}
    if "GIT_DIR" in named:
        named.add("GIT_WORK_TREE")  # git would take the current folder
    repo.git.update_environment(**_ENVIRONMENT, **{name: os.path.realpath(str(own[name])) for name in named})
    return repo.git
