"""Debian's chromium, without a window: it shows a page of a folder in a frame, and says what it found there."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.kit.live import Ask, content, live, static, status

#: The page in a frame, and in a script around it what is asked of it; the answer becomes the document's text.
_ASKING = """<!DOCTYPE html><meta charset="utf-8">
<iframe id="frame" style="width:%(width)spx;height:800px;border:0"></iframe>
<pre id="answer"></pre><script src="/axe.js"></script><script>
const frame = document.getElementById("frame");
frame.onload = async () => {
  const inside = frame.contentDocument, answer = {};
  try {
    answer.language = inside.documentElement.lang;
    answer.title = inside.title;
    answer.overflow = inside.documentElement.scrollWidth - %(width)s;
    answer.background = frame.contentWindow.getComputedStyle(inside.body).backgroundColor;
    answer.scripts = inside.scripts.length;
    answer.bars = [...inside.querySelectorAll(".year a")].map(each => [each.getAttribute("href"),
      [...each.querySelectorAll("i")].map(
        part => [part.className, +part.style.flexGrow, part.getBoundingClientRect().height])]);
    answer.done = await (async () => { %(doing)s })();
    answer.broken = [];
    const links = new Set([...inside.querySelectorAll("[href], [src]")].map(each => each.getAttribute("href")
      || each.getAttribute("src")).map(each => new URL(each, inside.baseURI)).filter(
        each => each.origin === location.origin).map(each => each.href.split("#")[0]));
    for (const link of links) if (!(await fetch(link).catch(() => fetch(link))).ok) answer.broken.push(link);
    answer.links = links.size;
    const script = inside.createElement("script");
    script.src = "/axe.js";
    await new Promise(done => { script.onload = done; inside.head.append(script); });
    for (const each of inside.querySelectorAll("details")) each.open = true;
    const found = await frame.contentWindow.axe.run(inside);
    answer.violations = found.violations.map(each => each.id + ": " + each.nodes.map(node => node.html).join(" "));
  } catch (error) { answer.error = String(error); }
  document.getElementById("answer").textContent = JSON.stringify(answer);
  document.title = "done";
};
frame.src = "/page/%(path)s";
</script>"""


@cache
def chromium() -> str | None:
    """Return the path of the browser, `None` if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


needs_chromium = pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt-get install chromium")


@dataclass(frozen=True)
class Seen:
    """What the browser found: the page's own `answer`, what it logged, and the requests that left the host."""

    answer: dict[str, Any]
    errors: list[str]


def look_at(folder: Path, path: str, width: int, *, dark: bool = False, doing: str = "") -> Seen:
    """Show the page at a path of a folder, in a frame of this width; `doing` is what a script does with it."""
    with (
        _served(folder, _ASKING % {"width": width, "path": path, "doing": doing}) as address,
        TemporaryDirectory() as profile,
    ):
        done = subprocess.run(
            [
                chromium() or "",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                f"--user-data-dir={profile}",
                f"--window-size={width + 40},900",
                "--enable-logging=stderr",
                "--virtual-time-budget=60000",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                "--dump-dom",
                f"{address}/asking.html",
            ],
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
    answer = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert answer, done.stderr[-2000:]
    assert answer[1], done.stderr[-2000:]
    return Seen(json.loads(unescape(answer[1])), [line for line in done.stderr.splitlines() if ":CONSOLE" in line])


@contextmanager
def _served(folder: Path, asking: str) -> Iterator[str]:
    """Serve the page that asks, axe, and the folder as `/page/`, from which nothing may be requested elsewhere."""
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    axe = Path(spec.origin).with_name("axe.min.js").read_bytes()
    policy = {"Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' data:"}
    fixed = {
        "asking.html": content(asking.encode(), Content_Type="text/html", **policy),
        "axe.js": content(axe, Content_Type="text/javascript", **policy),
        "favicon.ico": status(204),
    }

    def answer(ask: Ask) -> None:
        ask.path = ask.path.removeprefix("page/")
        pages(ask)

    pages = static(folder, {"*": policy})
    with live(answer) as site:
        site.manners = fixed
        yield site.url
