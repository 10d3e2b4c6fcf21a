"""The command: `python -m tests.tools.truth REPO [options] [-- ARGUMENTS OF PELICAN]`."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.tools.truth.builds import Build, Builder, Command, link_plugin
from tests.tools.truth.clone import Clone, Commit, Landings, environment
from tests.tools.truth.judge import CHANGE_LIST, Listed, Report, compare, load_builds, save_builds

_CALL = "import sys; from pelican_resourcesync.cli import main; sys.exit(main())"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; those behind `--` are for pelican."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.truth",
        description="Build every commit of a site, and say how true the Change Lists of the last one are to that.",
        epilog="What follows -- is passed to pelican (or, as settings such as -e A=1, to backfill).",
    )
    add = parser.add_argument
    add("repository", type=Path, help="a git repository with a Pelican site; it is not touched")
    add("--site", default=".", metavar="DIR", help="the folder in it where pelican is run")
    add("--content", help="the content folder, if the settings do not say")
    add("--settings", default="pelicanconf.py", help="the settings file; a commit without it has no site")
    add("--siteurl", default="https://example.org", help="the SITEURL to build with")
    add("--python", default=sys.executable, help="the interpreter that has what the site needs")
    add("--to", dest="until", default="HEAD", metavar="REV", help="the last one")
    add("--exclude", nargs="*", default=["404.html"], metavar="PATTERN", help="output paths that are no resources")
    add("--truth", type=Path, metavar="FILE", help="where builds are saved; what it has is not built again")
    add(
        "--judge",
        choices=["plugin", "backfill"],
        default="plugin",
        help="whose Change Lists to judge: those of a first build with the plug-in, by the rule of docs/history.md "
        "(the default), or those of `pelican-resourcesync backfill`, by their hashes too",
    )
    add("--jobs", type=int, default=2, help="how many builds of `backfill` at a time")
    add("--list", type=int, default=10, metavar="N", help="how many faults to print of each kind")
    add("--json", type=Path, metavar="FILE", help="where to write the whole report")
    options = parser.parse_args(arguments[:end])
    options.more = list(arguments[end + 1 :])
    return options


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask."""
    options = parse(arguments)
    command = Command(
        site=options.site,
        content=options.content,
        settings=options.settings,
        more=options.more,
        siteurl=options.siteurl.rstrip("/"),
    )
    with tempfile.TemporaryDirectory(prefix="truth-") as folder:
        clone = Clone(options.repository, Path(folder, "clone"))
        line = clone.commits(options.until)
        landings = Landings(line, datetime.now(UTC))
        times = {each.sha: int(landings.time(each.sha).timestamp()) for each in line}
        builds = _build(options, command, clone, times, Path(folder))
        failed = {each.sha: str(builds[each.sha].reason) for each in line if builds[each.sha].reason}
        landed = [(landings.time(each.sha), builds[each.sha].outputs) for each in line if each.sha not in failed]
        publish = _backfill if options.judge == "backfill" else _publish
        listed = Listed.read(publish(options, command, line, Path(folder)), command.siteurl)
    report = Report(len(line), failed)
    compare(report, landed, listed, options.exclude, hashes=options.judge == "backfill")
    print("\n".join(report.lines(options.list)))
    if options.json:
        report.save(options.json)
    return 0


def _build(
    options: argparse.Namespace, command: Command, clone: Clone, times: Mapping[str, int], folder: Path
) -> dict[str, Build]:
    """Return the builds of the commits that landed at these times, by name, and save them."""
    builds = load_builds(options.truth, command)
    builder = Builder(command, folder / "job", python=options.python)
    for sha, time in times.items():
        if sha not in builds:
            build = builds[sha] = builder.build(clone, sha, time)
            outcome = f"does not build: {build.reason}" if build.reason else f"{len(build.outputs)} files"
            print(f"{len(builds)}/{len(times)} {sha[:10]} {outcome}", file=sys.stderr, flush=True)
    builder.close()
    if options.truth:
        save_builds(options.truth, command, builds)
    return builds


def _publish(options: argparse.Namespace, command: Command, line: Sequence[Commit], folder: Path) -> Path:
    """Build the last commit with the plug-in, in a clone with its whole history; return the output."""
    tree = Clone(options.repository, folder / "judged").check_out(line[-1].sha)
    builder = Builder(command, folder / "publish", python=options.python, publish=True)
    try:
        build = builder.run(tree)
    finally:
        builder.close()
    if build.reason is not None or CHANGE_LIST not in build.outputs:
        message = f"{line[-1].sha} is not published: {build.reason or builder.said()}"
        raise SystemExit(message)
    return builder.output


def _backfill(options: argparse.Namespace, command: Command, line: Sequence[Commit], folder: Path) -> Path:
    """Build the past with the command `backfill`, in a clone; return the output.

    Pages are published as they were built, so that their hashes are those of plain builds.
    """
    tree = Clone(options.repository, folder / "judged").check_out(line[-1].sha)
    output, imports = folder / "backfill", folder / "backfill-imports"
    imports.mkdir()
    settings = {"SITEURL": command.siteurl, "RESOURCESYNC": {"html_links": False, "previous": "output"}}
    settings |= {"PATH": command.content} if command.content else {}
    extra = [
        *(each for each in options.more if each != "-e"),
        *(f"{name}={json.dumps(value)}" for name, value in settings.items()),
    ]
    arguments = ["--settings", command.settings, "--output", str(output), "--jobs", str(options.jobs)]
    process = subprocess.run(
        [options.python, "-c", _CALL, "backfill", *arguments, "-e", *extra],
        cwd=tree / command.site,
        env=environment(PYTHONPATH=str(link_plugin(imports)), PYTHONDONTWRITEBYTECODE="1"),
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    print(process.stdout, file=sys.stderr, flush=True)
    if process.returncode:
        message = f"the backfill failed with exit status {process.returncode}: {process.stdout.strip()}"
        raise SystemExit(message)
    return output


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
