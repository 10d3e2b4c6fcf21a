"""The command `key`: make the key that signs publications, replace it, or show its public part."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.system.exits import DONE
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.signing import ENVIRONMENT, SigningKey, signing_key


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "make a key that signs publications"
    verb = verbs.add_parser("key", help=text, description=f"{text[0].upper()}{text[1:]}, and print it.")
    verb.set_defaults(verb=run)
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--replace", action="store_true", help=f"let the new key replace the one in ${ENVIRONMENT}")
    what.add_argument("--public", action="store_true", help=f"only print the public key of the one in ${ENVIRONMENT}")


def run(options: Namespace) -> int:
    """Print a key and what to do with it: text for people on standard error, the keys on standard output."""
    there = signing_key() if options.replace or options.public else None
    if (options.replace or options.public) and there is None:
        message = f"{ENVIRONMENT} is not set: set it to the private key that `pelican-resourcesync key` printed"
        raise SettingsError(message)
    if there and options.public:
        sys.stdout.write(f"{printable(there.public)}\n")
        return DONE
    key = SigningKey.generate(there)
    public = key.public  # which needs an extra, so that nothing is printed without it
    sys.stderr.write(f"Secret: set {ENVIRONMENT} to this where you publish, and store it nowhere else.\n")
    sys.stdout.write(f"{printable(key)}\n")
    sys.stderr.write("Public: share this for `mirror --key`, for example on your site.\n")
    sys.stdout.write(f"{printable(public)}\n")
    return DONE
