"""Import the sample site, build and publish it three times, check it, say where all is, and serve it if asked.

`make demo` runs this in an environment of its own: `python sample_site/demo.py [--port N] [--serve] FOLDER`.
"""

import argparse
import http.server
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

HISTORY = Path(__file__).resolve().with_name("history.fi")


#: All that can be published.
EVERYTHING = 'RESOURCESYNC={"dumps": true, "archives": true}'


def import_site(folder: Path) -> None:
    """Make the repository of the sample site anew in `folder`, from its stream."""
    if folder.exists() and not (folder / "pelicanconf.py").is_file():
        sys.exit(f"{folder} is there and is no demo: name another folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git = partial(subprocess.run, cwd=folder, check=True)
    git(["git", "init", "--quiet", "--initial-branch=main"])
    with HISTORY.open("rb") as stream:
        git(["git", "fast-import", "--quiet"], stdin=stream)


def publish_site(folder: Path, siteurl: str) -> None:
    """Build it as of its last three commits, one after another: each publication goes on from the one before."""
    for revision in ("main~2", "main~1", "main"):
        print(f"\n$ git checkout {revision}; pelican", flush=True)
        subprocess.run(["git", "checkout", "--quiet", revision], cwd=folder, check=True)
        pelican = [sys.executable, "-m", "pelican", "--quiet", "--extra-settings", f'SITEURL="{siteurl}"', EVERYTHING]
        subprocess.run(pelican, cwd=folder, check=True)


def check_site(folder: Path) -> None:
    """Hold what was published to every rule of the standard, its packages too."""
    print("\n$ pelican-resourcesync check --deep --strict output", flush=True)
    check = [sys.executable, "-m", "pelican_resourcesync", "check", "--deep", "--strict", "output"]
    subprocess.run(check, cwd=folder, check=True)


def show(output: Path, siteurl: str) -> None:
    """Say where the documents are."""
    print(f"\nThe site is in {output}. A Destination begins at {siteurl}/.well-known/resourcesync:\n")
    for path in sorted(
        file for file in (output / "resourcesync").rglob("*") if file.suffix in (".html", ".xml", ".zip")
    ):
        print(f"  {siteurl}/{path.relative_to(output).as_posix()}")


def serve(output: Path, port: int) -> None:
    """Serve the output on the loopback address until interrupted."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(output))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"\nServing at http://localhost:{port}/ (interrupt to stop). Mirror it from another terminal:\n")
        print(f"  resync-sync -b http://localhost:{port} mirror")
        server.serve_forever()


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to make the site; what is there is removed")
    parser.add_argument("--port", type=int, default=8000, help="the port to serve at, and of the site's URIs")
    parser.add_argument("--serve", action="store_true", help="serve the site when it is built")
    arguments = parser.parse_args()
    siteurl = f"http://localhost:{arguments.port}"
    import_site(arguments.folder)
    publish_site(arguments.folder, siteurl)
    check_site(arguments.folder)
    output = arguments.folder.resolve() / "output"
    show(output, siteurl)
    if arguments.serve:
        serve(output, arguments.port)
    else:
        print("\nTo serve it: make demo SERVE=1")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
