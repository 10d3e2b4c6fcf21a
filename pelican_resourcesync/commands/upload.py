"""The command `upload`: an output, to a bucket or in the order in which others upload it."""

import logging
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from pelican_resourcesync.commands.running import progress
from pelican_resourcesync.errors import IncompleteError, SettingsError, TransportError
from pelican_resourcesync.options import count, seconds
from pelican_resourcesync.system.command_line import add_command
from pelican_resourcesync.system.exits import DONE


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "upload what changed in an output to a bucket of an object store"
    examples = "output s3://museum.example", "output gs://museum.example/site --dry-run"
    verb = add_command(verbs, "upload", text, run, *examples)
    verb.add_argument("output", metavar="OUTPUT", type=Path, help="the folder that was published")
    where = verb.add_mutually_exclusive_group(required=True)
    where.add_argument("bucket", nargs="?", metavar="BUCKET", help="where to: s3://bucket/prefix, gs://… or az://…")
    steps = "print the files of a step, from 1 to 7, for other programs"
    where.add_argument("--order", type=int, choices=range(1, 8), metavar="STEP", help=steps)
    verb.add_argument(
        "--grace", type=_grace, default=86_400.0, metavar="TIME", help="when to remove what is no longer there (1d)"
    )
    verb.add_argument("--jobs", type=count, default=16, metavar="N", help="how many files to upload at a time (16)")


def _grace(text: str) -> float:
    return 0.0 if text == "0" else seconds(text)


def run(options: Namespace) -> int:
    """Upload, and print a summary."""
    from pelican_resourcesync.delivery.upload import step_files, upload
    from pelican_resourcesync.http import Bucket, is_bucket
    from pelican_resourcesync.system.exits import stopping
    from pelican_resourcesync.terminal import answer, format_bytes, format_count

    if options.order:
        sys.stdout.writelines(f"{path}\n" for path in step_files(options.output, options.order))
        return DONE
    if not is_bucket(options.bucket):
        message = (
            f"{options.bucket!a} is no bucket: write s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
        )
        raise SettingsError(message)
    try:
        with stopping(), progress(options, "comparing the output with the bucket", "files") as report:
            done = upload(
                options.output,
                Bucket(options.bucket),
                grace=options.grace,
                jobs=options.jobs,
                dry_run=options.dry_run,
                on_progress=report,
            )
    except (TransportError, KeyboardInterrupt) as error:
        raise IncompleteError(str(error) or "stopped; the next upload goes on from here") from error
    lines = [f"upload {path}" for path in done.changed] + [f"remove {path}" for path in done.removed]
    did = ("would be uploaded", "would be removed") if options.dry_run else ("uploaded", "removed")
    later = f" ({done.waiting:,} later)" if done.waiting else ""
    summary = (
        f"{len(done.changed):,} of {format_count(done.files, 'file')} {did[0]} ({format_bytes(done.size)}), "
        f"{len(done.removed):,} {did[1]}{later}, in {format_count(done.requests, 'request')}."
    )
    answer(options, "\n".join([*lines * (options.dry_run or options.level < logging.WARNING), summary]), done)
    return DONE
