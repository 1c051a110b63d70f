"""The picture of bench compression: what runs, steps and write phases took with compression and without.

Used by: chapters.py. Before it: its report. After it: a section of the page.
"""

import numpy as np

from page import new_figure

COLOURS = {"off": "#888888", "on": "#009e73"}
TEXT = """A dot each; thick from the 5th to the 95th percentile, a bar at the median. A write phase is what the
simulation waits for. Memory is what the server held beyond its buffer."""
LABELS = {"time to solution": (1, "s"), "step": (1e3, "ms"), "write phase": (1e3, "ms")}


def add_compression(page, report):
    ways = report["details"]
    figure = new_figure(11, 2.6)
    spread = np.random.default_rng(7)
    for axis, (label, (scale, unit)) in zip(figure.subplots(1, len(LABELS)), LABELS.items()):
        for place, way in enumerate(ways):
            draw_strip(axis, place, scale * times_of(way, label), COLOURS[way["way"]], spread)
        axis.set(xlabel=f"{label}, {unit}", yticks=range(len(ways)), ylim=(len(ways) - 0.4, -0.6))
        axis.locator_params(axis="x", nbins=5)
        axis.set_yticklabels([f"compression {way['way']}" if label == "time to solution" else "" for way in ways])
    page.add("With compression and without", TEXT, figure, table(ways))


def draw_strip(axis, place, times, colour, spread):
    low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
    axis.plot(times, place + spread.uniform(-0.25, 0.25, len(times)), ".", color=colour, alpha=0.4, markersize=3)
    axis.plot([low, high], [place, place], color=colour, linewidth=6, alpha=0.5, solid_capstyle="butt")
    axis.plot([middle, middle], [place - 0.3, place + 0.3], color="black", linewidth=2)
    axis.annotate(f"{middle:.3g}", (middle, place - 0.32), ha="center", va="bottom", fontsize=7)


def times_of(way, label):
    """Seconds, of all runs together."""
    if label == "time to solution":
        return np.array(way["time_to_solution_s"])
    return np.concatenate(way["phases_s"][label])


def table(ways):
    heads = ["compression", "runs", "stored, MB", "memory, MB", *[f"{label}, {unit}" for label, (_, unit) in LABELS.items()]]
    return heads, [[way["way"], len(way["time_to_solution_s"]), f"{way['stored_bytes'] / 1e6:.0f}", f"{way['memory_bytes'] / 1e6:.0f}",
                    *[quantiles(scale * times_of(way, label)) for label, (scale, _) in LABELS.items()]] for way in ways]


def quantiles(times):
    middle, late = np.quantile(times, (0.5, 0.99))
    return f"{middle:.3g}, p99 {late:.3g}"
