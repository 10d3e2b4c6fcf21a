"""The command `serve`: a folder over HTTP, with the versions that its resources had at any time."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from contextlib import suppress
from pathlib import Path

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.system.command_line import add_command
from pelican_resourcesync.system.exits import DONE


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "serve a folder, with the version of each resource at any time (TimeGate, RFC 7089)"
    verb = add_command(verbs, "serve", text, run, "output", writes=False)
    verb.add_argument("folder", metavar="FOLDER", type=Path, help="the folder that was published")
    verb.add_argument("--host", default="127.0.0.1", metavar="HOST", help="the address to listen on (127.0.0.1)")
    verb.add_argument("--port", default=8000, type=int, metavar="PORT", help="the port to listen on (8000)")


def run(options: Namespace) -> int:
    """Serve the folder until the user stops it."""
    from pelican_resourcesync.delivery.serve import FolderServer
    from pelican_resourcesync.terminal import answer

    if not options.folder.is_dir():
        message = f"{options.folder} is no folder: publish a site first, and pass its output"
        raise SettingsError(message)
    try:
        server = FolderServer((options.host, options.port), options.folder)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", "") or str(error).rstrip(".")
        message = f"--host {options.host} --port {options.port} cannot be used: {why}: choose another host or port"
        raise SettingsError(message) from error
    with server:
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{server.server_port}/"
        answer(options, f"Serving {options.folder} at {url}", {"folder": str(options.folder), "url": url})
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return DONE
