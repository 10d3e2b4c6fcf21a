"""The commands of those who publish a site: `publish`, `forget`, `backfill` and `key`."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import FOLDER
from pelican_resourcesync.publishers import folder
from pelican_resourcesync.publishers.takedown import take_down
from pelican_resourcesync.system.command_line import messages, warn
from pelican_resourcesync.system.exits import DONE, PROBLEMS
from pelican_resourcesync.system.extras import require_pelican
from pelican_resourcesync.system.printable import print_line
from pelican_resourcesync.system.signing import ENVIRONMENT, SigningKey, signing_key
from pelican_resourcesync.system.strict_json import parse_json
from pelican_resourcesync.terminal import Progress, answer, spinner, summaries
from pelican_resourcesync.version import PROGRAM

SETTINGS = Path("pelicanconf.py")


def publish(options: Namespace) -> int:
    """Publish a folder of files that any program built, or show what would be published, and print what came of it."""
    settings, base, why_not = folder.read_folder_settings(options.folder, options.base_url, options.config)
    if options.dry_run and not why_not:
        planned = folder.dry_run_folder(settings, base, allow_empty=options.allow_empty)
        answer(options, planned.text(), planned)
        return PROBLEMS if planned.stopped else DONE
    began = time.perf_counter()
    with Progress.shown(messages(options), PROGRAM) as progress:
        result = folder.publish(
            options.folder,
            base_url=options.base_url,
            config=options.config,
            progress=progress,
            allow_empty=options.allow_empty,
        )
    warn(options, PROGRAM, result.warnings)
    seconds = time.perf_counter() - began
    lines = [f"ResourceSync: {line}." for line in (*result.hints, *result.notes)]
    lines += summaries(result.publications, f"{settings.base_url}/{FOLDER}/", seconds)
    answer(options, "\n".join(lines), result)
    return DONE


def forget(options: Namespace) -> int:
    """Remove resources from everything that is published, and say what the user still has to do."""
    if options.output and not options.settings:
        done = take_down(options.output, options.uris, dry_run=options.dry_run)
    else:
        require_pelican("forget without --output reads Pelican's settings, which needs an extra")
        from pelican_resourcesync.publishers.pelican import read_configuration

        site = read_configuration(options.settings or SETTINGS)
        with spinner("reading what is published", PROGRAM, messages(options)):
            done = take_down(options.output or site.output, options.uris, site, dry_run=options.dry_run)
    answer(options, done.text(), done)
    return DONE


def backfill(options: Namespace) -> int:
    """Build the past commits of the site, and publish its whole history."""
    require_pelican("backfill builds with Pelican, which needs an extra")
    from pelican_resourcesync.publishers.pelican.backfill import run_backfill

    done = run_backfill(
        options.settings or SETTINGS,
        messages(options),
        output=options.output,
        since=options.since,
        jobs=options.jobs,
        extra=_extra_settings(options.extra_settings),
        dry_run=options.dry_run,
    )
    answer(options, done.text(), done)
    return DONE


def _extra_settings(texts: Sequence[str]) -> Mapping[str, Any]:
    """Parse settings in the form of Pelican's `-e`, `KEY=VALUE` with a JSON value. The last value of a key wins."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            message = f"-e {text!r} is not valid: write KEY=VALUE, such as -e SITENAME='\"My site\"'"
            raise SettingsError(message)
        try:
            found[key] = parse_json(value, lambda parsed: parsed)
        except ValueError as error:
            message = (
                f"-e {key} has the value {value!r}, which is not JSON: write {key}='\"text\"', {key}=5 or {key}=true"
            )
            raise SettingsError(message) from error
    return found


def key(options: Namespace) -> int:
    """Print a key and what to do with it: text for people on standard error, the keys on standard output."""
    signer = signing_key() if options.replace or options.public else SigningKey.generate()
    if signer is None:
        message = f"{ENVIRONMENT} is not set: set it to the private key that `pelican-resourcesync key` printed"
        raise SettingsError(message)
    if options.replace:
        signer = SigningKey.generate(signer)
    keys = {"public": signer.public}  # needs an extra, so nothing is printed before
    if not options.public:
        keys = {"private": str(signer)} | keys
    texts = {
        "private": f"Private key: set {ENVIRONMENT} to it where you publish, and keep it secret.\n",
        "public": "Public key: share it for `mirror --key`, for example on your site.\n",
    }
    for name, value in keys.items() if not options.json else ():
        messages(options).write(texts[name] * (not options.public))
        print_line(value)
    if options.json:
        sys.stdout.write(f"{json.dumps(keys)}\n")
    return DONE
