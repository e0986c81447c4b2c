"""The figure of docs/paper.md: gaps of the tables in RESULTS.md over the size, a panel a problem.

``python benchmarks/paper_figure.py`` writes ``docs/images/paper.svg``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nsa_cli.core.drawing import BLACK, BLUE, GREY, ORANGE, SKY
from nsa_cli.report.plots import picture, write_picture

ROOT = Path(__file__).parents[1]

#: Columns of the table, their words in the figure, and their lines.
LINES = {
    "paper, SA": ("plain annealing, paper", {"color": SKY, "marker": "s"}),
    "plain": ("plain annealing, tuned, ours", {"color": GREY, "marker": "s"}),
    "paper": ("learnt, paper", {"color": ORANGE, "marker": "o"}),
    "policy": ("learnt, ours", {"color": BLUE, "marker": "o"}),
    "nsa solve": ("nsa solve, no network", {"color": BLACK, "marker": "*", "ls": "none", "ms": 9}),
}


def tables() -> dict[str, dict[str, dict[int, float]]]:
    """Read gaps in % by set, column and size; 0 is drawn as the least gap that is seen."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    header, *rows = re.findall(r"^\| (set .*?|TSP.*?|Knap.*?) \|$", text, re.MULTILINE)
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        if match := re.match(r"(TSP|Knap)(\d+) ", row):
            for column, cell in zip(header.split(" | "), row.split(" | "), strict=True):
                if column in LINES and (gap := re.match(r"[\d.]+", cell)):
                    found.setdefault(match[1], {}).setdefault(column, {})[int(match[2])] = float(gap[0])
    return found


def draw(figure: Any, found: dict[str, dict[str, dict[int, float]]]) -> None:
    """Draw a panel a problem."""
    titles = {"TSP": "tours, 10 N² steps", "Knap": "knapsacks, 10 N steps"}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, columns) in zip(panels, found.items(), strict=True):
        for column, (label, style) in LINES.items():
            gaps = columns.get(column, {})
            shown = [max(gap, 0.001) for gap in gaps.values()]
            axes.plot(list(gaps), shown, label=label, clip_on=False, **({"lw": 1.8, "ms": 5} | style))
        sizes = sorted({size for gaps in columns.values() for size in gaps})
        axes.set(xscale="log", yscale="log", title=titles[name], xlabel="N", ylim=(0.001, 100))
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_yticks([0.001, 0.01, 0.1, 1, 10, 100], ["0", "0.01", "0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.grid(True)
    panels[0].set_ylabel("gap to the optimum or best known (%)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    write_picture(picture((8.6, 4.6), draw, tables()), ROOT / "docs" / "images" / "paper.svg")
