"""Build the corpus, say what is true of it, and judge the content hash on it.

    python -m tests.tools.content build|truth|judge|experiments [SITE…] [--work FOLDER] [--held-back] [--write]

`build` clones and builds sites in FOLDER, whose folder `env` has the generators. `truth` writes tests/data/content,
from the sources alone. `judge` runs the function on all states, and prints the wrong moves; --write keeps the results.
"""

import json
import sys
import tomllib
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from pelican_resourcesync.content import content_hash
from tests.tools.content.build import build, experiment
from tests.tools.content.judge import judge, judge_experiments
from tests.tools.content.truth import URL, write_truth

DATA = Path(__file__).parents[2] / "data" / "content"
COLUMNS = ("commits", "states", "changed", "moved", "must", "found", "list", "right", "wrong", "missed")


def main() -> int:
    """Do a task for sites, and return 1 where pages were missed."""
    sites = tomllib.loads((Path(__file__).parent / "sites.toml").read_text(encoding="utf-8"))
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("build", "truth", "judge", "experiments"))
    parser.add_argument("sites", nargs="*")
    parser.add_argument("--work", type=Path, default=Path("build/content"), help="the folder of clones and builds")
    parser.add_argument("--held-back", action="store_true", help="the two sites that are tried once")
    parser.add_argument("--write", action="store_true", help="write the results to tests/data/content")
    options = parser.parse_args()
    names = options.sites or [name for name in sites if sites[name].get("held_back", False) == options.held_back]
    work = options.work.resolve()
    for name in names:
        (work / name).mkdir(parents=True, exist_ok=True)
        if options.task == "build":
            build(work, name, sites[name])
        elif options.task == "truth":
            write_truth(work, name, sites[name], DATA / f"{name}.json")
        elif options.task == "experiments" and "experiments" in sites[name]:
            experiment(work, name, sites[name])
            for row in judge_experiments(work, name, content_hash, sites[name].get("url", URL)):
                print(f"| {name} | {' | '.join(map(str, row))} |")
    return _judge(work, names, sites, write=options.write) if options.task == "judge" else 0


def _judge(work: Path, names: list[str], sites: dict[str, Any], *, write: bool) -> int:
    read = json.loads((DATA / "read.json").read_text(encoding="utf-8"))
    results: dict[str, dict[str, Any]] = {}
    total: Counter[str] = Counter()
    print(_row("site", "theme", *COLUMNS), _row(*["---"] * (len(COLUMNS) + 2)), sep="\n")
    for name in names:
        truth = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
        counts, moves = judge(work, name, truth, read.get(name, []), content_hash)
        results[name] = {"counts": counts, "moves": moves}
        total.update(counts)
        print(_row(name, sites[name]["theme"], *(counts.get(column, 0) for column in COLUMNS)))
    print(_row("all", "", *(total[column] for column in COLUMNS)))
    for name, result in results.items():
        for move in result["moves"]:
            print(name, *move.values())
    if write:
        path = DATA / "results.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        text = json.dumps(dict(sorted({**kept, **results}.items())), ensure_ascii=False, indent=1)
        path.write_text(text + "\n", encoding="utf-8")
    return bool(total["missed"])


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
