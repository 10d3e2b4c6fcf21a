"""Publish the sample site and a small repository, three times each, check all, and serve it if asked.

`make demo` runs this in an environment of its own: `python -m sample_site.demo [--port N] [--serve] FOLDER`.
"""

import argparse
import http.server
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from sample_site.repository import DAYS, UI_URL, make_repository, publish_repository

HISTORY = Path(__file__).resolve().with_name("history.fi")

#: The last commits of the site.
REVISIONS = ("main~2", "main~1", "main")

#: The name of the repository's folder and set, and that of the folder of its records.
REPOSITORY, RECORDS = "repository", "records"

#: All documents that can be published. Index pages are listed by name, so that any client can be tried with the demo:
#: some, such as `resync` 2.0.1, cannot store a URL that ends in a slash.
EVERYTHING = 'RESOURCESYNC={"dumps": true, "archives": true, "index_urls": "file"}'


def import_site(folder: Path) -> None:
    """Create the git repository of the sample site in `folder`, from the fast-import stream."""
    if folder.exists() and not (folder / "pelicanconf.py").is_file():
        sys.exit(f"{folder} exists, and is not a folder of this demo: choose another folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git = partial(subprocess.run, cwd=folder, check=True)
    git(["git", "init", "--quiet", "--initial-branch=main"])
    with HISTORY.open("rb") as stream:
        git(["git", "fast-import", "--quiet"], stdin=stream)


def publish_site(folder: Path, siteurl: str, revision: str) -> None:
    """Build the site as of a commit; each publication continues the one before."""
    print(f"\n$ git checkout {revision}; pelican", flush=True)
    subprocess.run(["git", "checkout", "--quiet", revision], cwd=folder, check=True)
    pelican = [sys.executable, "-m", "pelican", "--quiet", "--extra-settings", f'SITEURL="{siteurl}"', EVERYTHING]
    subprocess.run(pelican, cwd=folder, check=True)


def check(folder: Path) -> None:
    """Check what was published against all rules of the standard: documents, packages, and resources of the output."""
    print("\n$ pelican-resourcesync check --deep --strict output", flush=True)
    command = [sys.executable, "-m", "pelican_resourcesync", "check", "--deep", "--strict", "output"]
    subprocess.run(command, cwd=folder, check=True)


def show(output: Path, siteurl: str) -> None:
    """Print what there is, and where to look first."""
    home = output / "resourcesync"
    files = [file.relative_to(home) for file in home.rglob("*") if file.is_file()]
    records = sum(RECORDS in file.parts for file in files)
    documents = sum(file.suffix == ".xml" for file in files) - records + 1  # with the well-known one
    packages = sum(file.suffix == ".zip" for file in files)
    print(
        f"""
{documents} documents and {packages} packages are in {output}. Look first at the page for people,

  {(home / "index.html").as_uri()}

or, if you serve the output, at {siteurl}/resourcesync/. Programs begin at
{siteurl}/.well-known/resourcesync.

The set `site` has the pages of the site. The set `{REPOSITORY}` has {records} records of the DSpace in
{output.parent / REPOSITORY}, and its files, which would be at {UI_URL}. No such host
exists, so the check skipped them; their bytes are in the packages."""
    )


def serve(output: Path, port: int) -> None:
    """Serve the output on the loopback address until interrupted."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(output))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"\nServing at http://localhost:{port}/ (interrupt to stop). Mirror the site from another terminal:\n")
        print(f"  pelican-resourcesync mirror http://localhost:{port}/ copy")
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
    repository = arguments.folder / REPOSITORY
    make_repository(repository, siteurl)
    for revision, day in zip(REVISIONS, DAYS, strict=True):
        publish_site(arguments.folder, siteurl, revision)
        publish_repository(repository, day)
    check(arguments.folder)
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
