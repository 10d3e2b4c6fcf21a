"""What publishing may cost: ratios in one run, because machines differ and are noisy."""

from pathlib import Path

from tests.benchmark import make_site, measure

GOAL = 0.15
ATTEMPTS = 3


def test_history_and_documents_cost_little_beside_pelican(tmp_path: Path) -> None:
    """Of a Markdown site of 500 articles, cold: at most 15 % of what Pelican needs, in the quietest of a few runs."""
    site = make_site(tmp_path / "site", 500)
    ratios: list[float] = []
    while len(ratios) < ATTEMPTS and (not ratios or min(ratios) > GOAL):
        ratios.append(measure(site).ratio)
        site.git("clean", "-fdxq")
    assert min(ratios) <= GOAL, ratios
