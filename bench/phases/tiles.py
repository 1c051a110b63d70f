"""The tiles of the paper's figure 1: a tile a phase, a bar a process, sorted by write time.

Used by: pictures.py. Before it: a run of each way. After it: one figure.
"""

from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm

from page import new_figure
from summary import idle_share, throughput

MOST = 10  # phases that fit beside each other
COLOURS = "viridis"


def draw_tiles(runs):
    """runs: {way: run}."""
    rates = [rate for run in runs.values() for rate in throughput(run)]
    scale = ScalarMappable(LogNorm(min(rates) * 0.9, max(rates) * 1.1), COLOURS)  # one for the whole page
    figure = new_figure(11, 0.6 + 1.05 * len(runs))
    axes = figure.subplots(len(runs), MOST, squeeze=False)
    for line, (way, run) in zip(axes, runs.items()):
        line[0].set_ylabel(way.replace("file-per-process-", "file-per-process\n"), rotation=0, ha="right", va="center", fontsize=9)
        for unused in line[len(run["visible_s"]):]:
            unused.set_visible(False)
        for tile, times, rate in zip(line, run["visible_s"], throughput(run)):
            draw_tile(tile, times, scale.to_rgba(rate), f"{rate_text(rate)}\nwaiting {100 * idle_share(times):.0f} %")
    bar = figure.colorbar(scale, ax=axes, location="top", aspect=60, pad=0.02, shrink=0.6)
    bar.ax.xaxis.set_major_formatter(lambda rate, _: rate_text(rate))
    bar.set_label("apparent throughput: raw bytes by the time of the slowest process")
    return figure


def draw_tile(tile, times, colour, text):
    tile.barh(range(len(times)), sorted(times, reverse=True), height=1, color=colour)
    tile.set(xlim=(0, max(times)), ylim=(-0.5, len(times) - 0.5), xticks=[], yticks=[])
    tile.spines[["top", "right"]].set_visible(True)
    for spine in tile.spines.values():
        spine.set(color="#bbbbbb", linewidth=0.6)
    tile.set_xlabel(text, fontsize=7, labelpad=2)


def rate_text(rate):
    return f"{rate / 1e9:.3g} GB/s" if rate >= 1e9 else f"{rate / 1e6:.3g} MB/s"
