"""The command `key`: make the key that signs publications, replace it, or show its public part."""

import json
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.system.command_line import add_command, messages
from pelican_resourcesync.system.exits import DONE
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.signing import ENVIRONMENT, SigningKey, signing_key


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "make a key that signs publications"
    verb = add_command(verbs, "key", text, run, "", "--public", writes=False)
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--replace", action="store_true", help=f"let the new key replace the one in ${ENVIRONMENT}")
    what.add_argument("--public", action="store_true", help=f"only print the public key of the one in ${ENVIRONMENT}")


def run(options: Namespace) -> int:
    """Print a key and what to do with it: text for people on standard error, the keys on standard output."""
    there = signing_key() if options.replace or options.public else None
    if (options.replace or options.public) and there is None:
        message = f"{ENVIRONMENT} is not set: set it to the private key that `pelican-resourcesync key` printed"
        raise SettingsError(message)
    keys = {"public": there.public} if there and options.public else _new_keys(there)
    texts = {
        "private": f"Secret: set {ENVIRONMENT} to this where you publish, and store it nowhere else.\n",
        "public": "Public: share this for `mirror --key`, for example on your site.\n",
    }
    for name, value in keys.items() if not options.json else ():
        messages(options).write(texts[name] * (not options.public))
        sys.stdout.write(f"{printable(value)}\n")
    if options.json:
        sys.stdout.write(f"{json.dumps(keys)}\n")
    return DONE


def _new_keys(there: SigningKey | None) -> dict[str, str]:
    key = SigningKey.generate(there)
    return {"private": str(key), "public": key.public}  # needs an extra, so nothing is printed before
