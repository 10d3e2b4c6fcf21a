"""Keep each change of one Source as a commit: `python git_history.py https://example.org/ folder`."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pelican_resourcesync import ResourceSyncError, follow
from pelican_resourcesync.destination import conflict_path_of

MARK = "\n\nCursor:"


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return what it says."""
    who = ["-c", "user.name=mirror", "-c", "user.email=mirror@localhost", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def update(source: str, folder: Path, **options: Any) -> None:
    """Commit each change. The message ends with the cursor, so that no change is committed twice."""
    if not (folder / ".git").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"Begin {source}{MARK}")
    if (of := git(folder, "log", "--max-parents=0", "--format=%s").strip()) != f"Begin {source}":
        message = f"{folder} is the history of another Source: {of.removeprefix('Begin ')}"
        raise ValueError(message)
    git(folder, "reset", "--quiet", "--hard")  # an interrupted run may have left a change without its commit
    git(folder, "clean", "--quiet", "-d", "--force", "-x")
    cursor = git(folder, "log", "-1", "--format=%B").rpartition(MARK)[2].strip()
    for change in follow(source, since=cursor, **options):
        if change.kind == "reset":
            git(folder, "rm", "-r", "--quiet", "--ignore-unmatch", ".")
        else:
            file = folder / conflict_path_of(change.uri, None)  # a path that no other URI has, inside the folder
            file.unlink(missing_ok=True)
            if change.content:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as stream:
                    shutil.copyfileobj(change.content, stream)
        git(folder, "add", "--all", "--force")
        message = f"{change.kind} {change.uri}{MARK} {change.cursor}"
        git(folder, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", message)


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit(__doc__)
    try:
        update(sys.argv[1], Path(sys.argv[2]))
    except (
        ResourceSyncError,
        ValueError,
    ) as error:  # the host is down, say: the next run goes on after the last commit
        sys.exit(str(error))
