"""Take the pictures of the documentation: the page for people of the sample site, and `show` in a terminal.

`python docs/site/pictures.py`, in the top folder, needs chromium (Debian: `apt-get install chromium`).
"""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from rich.terminal_theme import MONOKAI  # noqa: E402
from rich.text import Text  # noqa: E402

from sample_site.demo import import_site, publish_site  # noqa: E402

WIDTH, LINES = 104, 34
#: A terminal as SVG, without the fonts that rich would load from another host.
TERMINAL = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {terminal_width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, monospace }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="{terminal_width}" height="{height}" rx="10" fill="#14181f"/>
<g transform="translate(12, 14)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def take(page: Path, picture: Path, *, dark: bool) -> None:
    """Take a picture of the top of a page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    picture.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(
                    browser,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                    "--hide-scrollbars",
                ),
                *(f"--user-data-dir={profile}", "--window-size=1000,760"),
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                *(f"--screenshot={picture}", page.as_uri()),
            ],
            check=True,
            capture_output=True,
        )


def record(command: list[str], folder: Path, picture: Path) -> None:
    """Run a command in a terminal, and draw the lines that it prints first."""
    read, write = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=write, stderr=subprocess.DEVNULL):
        os.close(write)
        printed = b""
        while True:
            try:
                printed += os.read(read, 65_536)
            except OSError:
                break
    lines = printed.decode().replace("\r", "").splitlines()[:LINES]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi("\n".join(["$ pelican-resourcesync show output", *lines])))
        picture.write_text(console.export_svg(theme=MONOKAI, code_format=TERMINAL, unique_id="show"), "utf-8")


def main() -> None:
    """Publish the sample site, and take the pictures."""
    with TemporaryDirectory() as temporary:
        site = Path(temporary, "site")
        import_site(site)
        publish_site(site, "https://museum.example", "main")
        page = site / "output/resourcesync/index.html"
        take(page, ROOT / "docs/page.png", dark=False)
        take(page, ROOT / "docs/pictures/page-dark.png", dark=True)
        record([sys.executable, "-m", "pelican_resourcesync", "show", "output"], site, ROOT / "docs/pictures/show.svg")


if __name__ == "__main__":
    main()
