"""Take the pictures of the documentation: the pages for people, of the sample site and of others, and `show`.

The pictures of a page at three widths, in light and dark mode, show whoever changes it what it looks like with one
publication and with thirty, with 60 resources and with 200,000, with long and foreign titles.

`python docs/site/pictures.py`, in the top folder, needs chromium (Debian: `apt-get install chromium`).
"""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from rich.terminal_theme import MONOKAI  # noqa: E402
from rich.text import Text  # noqa: E402

from pelican_resourcesync.publication import (  # noqa: E402
    Calendar,
    ChangeHistory,
    FileResources,
    Layout,
    Options,
    PublishRequest,
    Representation,
    Resource,
    publish_sets,
    read_previous,
)
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


SITEURL = "https://museum.example"
BEGIN = datetime(2026, 2, 3, 9, 30, tzinfo=UTC)
TITLES = (
    "Of ice",
    "Die Geschichte der Laternen, Leuchter und Lampen an der Alten Zollbrücke von den Anfängen bis zur Gegenwart",
    "橋と川の歴史",
    "تاريخ الجسر القديم",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "Letters, 1817",
)
#: By name: the number of publications, of resources, and of sets, and the page.
SHEETS = {
    "one": (1, 60, 1, "resourcesync/index.html"),
    "thirty": (30, 60, 1, "resourcesync/index.html"),
    "large": (4, 200_000, 1, "resourcesync/index.html"),
    "sets": (8, 60, 3, "resourcesync/index.html"),
    "changes": (30, 60, 1, "resourcesync/site/changes/20260301T000000Z.html"),
}
#: A page at three widths, at half its size.
SHEET = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; background: #888 }} iframe {{ position: absolute; top: 0; height: 2200px; border: 0; zoom: .5 }}
</style>{frames}"""
WIDTHS = (390, 768, 1440)


def resources_of(day: int, number: int) -> Iterator[Resource]:
    """Yield resources as of a publication: pages, some of which come, change and go, and files beside them."""
    for each in range(number):
        is_page = each % 3 == 0
        if is_page and each < 30 and not each <= 3 * day < each + 60:  # noqa: PLR2004 - ten pages come and go
            continue
        changed = day if each in {1, 3 * (day % 7), 4} else 0
        data = f"{each} {changed}".encode()
        length = 400 + 37 * (each % 50)
        type_ = "text/html" if is_page else ("application/atom+xml", "image/svg+xml")[each % 2]
        measured = Representation.measured(sha256(data).hexdigest(), length, type_)
        title = TITLES[each // 3 % len(TITLES)] + (f" {each}" if each >= 3 * len(TITLES) else "") if is_page else ""
        yield Resource(f"{SITEURL}/{each}{'.html' if is_page else '.svg'}", None, None, measured, title=title)


def publish(output: Path, publications: int, resources: int, sets: int) -> None:
    """Publish so many times: every fourth day, and twice on some days."""
    for day in range(publications):
        built = BEGIN + timedelta(days=4 * (day - day % 2), hours=5 * (day % 2))
        requests = []
        for name in ("site", "letters", "pictures")[:sets]:
            layout = Layout(SITEURL, name)
            requests.append(
                PublishRequest(
                    resources=FileResources(resources_of(day, resources)),
                    history=ChangeHistory(built=built, complete=day > 0),
                    boundaries=Calendar("month"),
                    options=Options(output=output, layout=layout, site_name="Toll House Museum", allow_deletions=True),
                    previous=read_previous(output, layout),
                )
            )
        publish_sets(requests)


def take_sheets(folder: Path) -> None:
    """Take the pictures of pages at three widths."""
    for name, (publications, resources, sets, path) in SHEETS.items():
        output = folder / f"{publications}-{resources}-{sets}"
        if not output.exists():
            publish(output, publications, resources, sets)
        left, frames = 0, ""
        for width in WIDTHS:
            page = (output / path).as_uri()
            frames += f'<iframe src="{page}" style="left: {left}px; width: {width}px"></iframe>'
            left += width + 20
        sheet = folder / f"{name}.html"
        sheet.write_text(SHEET.format(frames=frames), "utf-8")
        for dark in (False, True):
            picture = ROOT / f"docs/pictures/{name}-{'dark' if dark else 'light'}.png"
            take(sheet, picture, dark=dark, size=((left - 20) // 2, 1100))


def take(page: Path, picture: Path, *, dark: bool, size: tuple[int, int] = (1000, 760)) -> None:
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
                *(f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"),
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
        take_sheets(Path(temporary))
        site = Path(temporary, "site")
        import_site(site)
        publish_site(site, "https://museum.example", "main")
        page = site / "output/resourcesync/index.html"
        take(page, ROOT / "docs/page.png", dark=False, size=(1000, 1060))
        take(page, ROOT / "docs/pictures/page-dark.png", dark=True)
        record([sys.executable, "-m", "pelican_resourcesync", "show", "output"], site, ROOT / "docs/pictures/show.svg")


if __name__ == "__main__":
    main()
