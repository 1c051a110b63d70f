"""Median write phase of each way by storage: how much longer all but damaris take as the storage gets slower.

Used by: pictures.py, where there are several storages. Before it: details. After it: one figure.
"""

from page import new_figure
from storage import names_of, of_storage
from summary import median_phase
from times import time_text

COLOURS = ["#0072b2", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442"]


def draw_storages(details):
    """A line a way, a dot a storage."""
    names = names_of(details)
    ways = [detail["way"] for detail in of_storage(details, names[0])]
    figure = new_figure(11, 1.1 + 0.45 * len(ways))
    axis = figure.subplots()
    for number, name in enumerate(names):
        draw_storage(axis, name, of_storage(details, name), COLOURS[number % len(COLOURS)])
    axis.set(xscale="log", xlabel="write phase, median", yticks=range(len(ways)), ylim=(len(ways) - 0.5, -0.7))
    axis.set_yticklabels(ways)
    axis.xaxis.set_major_formatter(lambda seconds, _: time_text(seconds))
    axis.xaxis.set_minor_formatter(lambda seconds, _: "")
    axis.grid(axis="both", which="major", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    figure.legend(loc="outside upper right", ncols=len(names), frameon=False)
    return figure


def draw_storage(axis, name, details, colour):
    medians = [median_phase(detail) for detail in details]
    axis.plot(medians, range(len(medians)), "o", color=colour, label=f"storage {name}", markersize=7, alpha=0.85)
