"""`python -m repo_bridge`: the same as the command `repo-bridge`."""

from repo_bridge.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
