"""The command: `python -m tests.truth REPO [options] [-- ARGUMENTS OF PELICAN]`."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.truth import report
from tests.truth.account import Account, account
from tests.truth.backfills import backfill
from tests.truth.builds import Builder, Command, builders
from tests.truth.clone import Clone, Commit
from tests.truth.consistency import Consistency, check
from tests.truth.doubts import settle
from tests.truth.landings import Landings
from tests.truth.steps import walk
from tests.truth.told import CHANGE_LIST, listed, read
from tests.truth.truth import Truth, Window, collect, open_window
from tests.truth.verdict import Case, Verdict, judge


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; those behind `--` are for pelican."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m tests.truth",
        description="Build every commit of a site, and say how true the Change Lists of the last one are to that.",
        epilog="What follows -- is passed to pelican.",
    )
    parser.add_argument("repository", type=Path, help="a git repository with a Pelican site; it is not touched")
    _add_site_options(parser.add_argument)
    _add_own_options(parser.add_argument)
    options = parser.parse_args(arguments[:cut])
    options.more = list(arguments[cut + 1 :])
    return options


def _add_site_options(add: Callable[..., object]) -> None:
    add("--site", default=".", metavar="DIR", help="the folder in it where pelican is run")
    add("--content", help="the content folder, if the settings do not say")
    add("--settings", default="pelicanconf.py", help="the settings file; a commit without it has no site")
    add("--siteurl", default="https://example.org", help="the SITEURL to build with")
    add("--python", default=sys.executable, help="the interpreter that has what the site needs (to judge: git, lxml)")


def _add_own_options(add: Callable[..., object]) -> None:
    add("--from", dest="since", metavar="REV", help="the first commit to ask about (default: the root)")
    add("--to", dest="until", default="HEAD", metavar="REV", help="the last one")
    add("--only", nargs="+", default=[], metavar="PATH", help="commits that touch none of these are not built")
    add("--exclude", nargs="*", default=["404.html"], metavar="PATTERN", help="output paths that are no resources")
    add("--truth", type=Path, metavar="FILE", help="where the truth is kept; what it knows is not built again")
    add("--phase", choices=["truth", "judge"], help="do only this (default: both)")
    add(
        "--judge",
        choices=["plugin", "backfill"],
        default="plugin",
        help="whose Change Lists to judge: those of a first build with the plug-in, by the rule of docs/history.md "
        "(the default), or those of `pelican-resourcesync backfill`, by their hashes too",
    )
    add("--jobs", type=int, default=2, help="how many builds at a time")
    add("--again", type=int, default=5, metavar="N", help="how many commits more than two to build again")
    add("--timeout", type=int, default=600, metavar="SECONDS", help="for one build")
    add("--list", type=int, default=10, metavar="N", help="how many faults to print of each group")
    add("--json", type=Path, metavar="FILE", help="where to write the whole report")


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
    truth = Truth.load(options.truth, command)
    with tempfile.TemporaryDirectory(prefix="truth-") as folder:
        clone = Clone(options.repository, Path(folder, "clone"))
        line = clone.commits(options.until)
        window = open_window(clone, line, options.since, options.only)
        if options.phase != "judge":
            _collect(options, truth, clone, window, Path(folder))
        if options.phase != "truth":
            _judge(options, truth, clone, window, Path(folder))
    return 0


def _collect(options: argparse.Namespace, truth: Truth, clone: Clone, window: Window, folder: Path) -> None:
    def keep() -> None:
        if options.truth:
            truth.save(options.truth)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with builders(truth.command, folder, jobs=options.jobs, python=options.python, timeout=options.timeout) as some:
        collect(truth, clone, window, some, keep=keep, say=say)
        settle(truth, clone, window, some, number=options.again, keep=keep, say=say)


def _judge(options: argparse.Namespace, truth: Truth, clone: Clone, window: Window, folder: Path) -> None:
    line = clone.commits(options.until)
    publish = _backfill if options.judge == "backfill" else _publish
    output, sources = publish(options, truth.command, line[-1], window, folder)
    case = Case(
        steps=walk(truth, window).steps,
        told=list(read(output, truth.command.siteurl)),
        siteurl=truth.command.siteurl,
        landings=Landings(line, datetime.now(UTC)),
        ever=truth.ever,
        unstable=truth.unstable_paths(window),
        exclude=options.exclude,
        hashes=options.judge == "backfill",
    )
    brought = clone.landed(options.until)
    landed = {path: brought[source] for path, source in sources.items() if source in brought}
    consistency = check(case, listed(output, truth.command.siteurl), line[-1].sha, landed)
    _report(options, judge(case), account(truth, window), consistency)


def _publish(
    options: argparse.Namespace, command: Command, last: Commit, _: Window, folder: Path
) -> tuple[Path, dict[str, str]]:
    """Build the last commit with the plug-in, in a clone with its whole history; return the output, and its sources."""
    tree = Clone(options.repository, folder / "judged").check_out(last.sha)
    builder = Builder(command, folder / "publish", python=options.python, timeout=options.timeout, publish=True)
    try:
        build = builder.run(tree)
    finally:
        builder.close()
    if build.reason is not None:
        message = f"{last.sha} does not build with the plug-in: {build.reason}"
        raise SystemExit(message)
    if CHANGE_LIST not in build.outputs:
        message = f"{last.sha} has no Change Lists; the build says: {builder.said()}"
        raise SystemExit(message)
    top = os.path.realpath(tree)
    return builder.output, {path: os.path.relpath(source, top) for path, source in build.sources.items()}


def _backfill(
    options: argparse.Namespace, command: Command, last: Commit, window: Window, folder: Path
) -> tuple[Path, dict[str, str]]:
    """Build the past of the last commit with `backfill`, from the beginning of the window on; return the output."""
    tree = Clone(options.repository, folder / "judged").check_out(last.sha)
    since = None if window.base is None else window.base.sha
    output, said = backfill(command, tree, folder / "backfill", python=options.python, jobs=options.jobs, since=since)
    print(said, file=sys.stderr, flush=True)
    return output, {}


def _report(options: argparse.Namespace, verdict: Verdict, commits: Account, consistency: Consistency) -> None:
    lines = report.text(verdict, commits, consistency, limit=options.list)
    print("\n".join(lines))
    if options.json:
        options.json.write_text(json.dumps(report.data(verdict, commits, consistency), indent=1), "ascii")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
