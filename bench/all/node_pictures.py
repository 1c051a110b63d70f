"""Pictures of bench queue, persist and slots: bars of what each way reaches.

Used by: chapters.py. Before it: their reports. After it: sections of the page.
"""

import numpy as np

from page import new_figure
from verdicts import number

OURS, THEIRS, OTHER = "#009e73", "#d55e00", "#0072b2"
PERSIST = "MB of the case's values a second; the ways of a case take turns, round by round."
SLOTS = """A dot is a round. Left what the target took while it was busy, of 400 MB/s; right the longest write of a round, from its begin
to its last byte."""


def add_queue(page, report):
    producers = sorted({one["producers"] for one in report["details"]})
    figure = new_figure(11, 3)
    axis = figure.subplots()
    for offset, queue, colour in ((-0.18, "lane", OURS), (0.18, "boost message_queue", THEIRS)):
        times = [median_of(report["details"], count, queue) for count in producers]
        bars(axis, [place + offset for place in range(len(producers))], times, colour, queue)
    axis.set(xlabel="ns a message, over all producers", yticks=range(len(producers)), ylim=(len(producers) - 0.5, -0.5))
    axis.set_yticklabels([f"{count} producer{'s' if count > 1 else ''}" for count in producers])
    axis.legend(frameon=False)
    page.add("Time of a message", "Median of all rounds.", figure)


def median_of(details, producers, queue):
    return next(one["wall_ns"]["median"] for one in details if (one["producers"], one["queue"]) == (producers, queue))


def bars(axis, places, values, colour, label):
    axis.barh(places, values, height=0.32, color=colour, label=label)
    for place, value in zip(places, values):
        axis.annotate(f" {number(value)}", (value, place), va="center", fontsize=8)


def add_persist(page, report):
    cases = list(dict.fromkeys(one["case"] for one in report["details"]))
    ways = [[one for one in report["details"] if one["case"] == case] for case in cases]
    figure = new_figure(11, 0.9 + 0.32 * sum(map(len, ways)) + 0.3 * len(cases))
    axes = figure.subplots(len(cases), 1, squeeze=False, height_ratios=[len(group) + 0.8 for group in ways])[:, 0]
    for axis, case, group in zip(axes, cases, ways):
        for place, one in enumerate(group):
            colour = THEIRS if one["way"].startswith("pwrite") else OURS
            bars(axis, [place], [one["mb_per_s"]], colour, None)
        axis.set(yticks=range(len(group)), ylim=(len(group) - 0.5, -0.5), xlim=(0, 1.1 * max(one["mb_per_s"] for one in group)))
        axis.set_yticklabels([one["way"] for one in group])
        axis.set_title(case, loc="left", pad=2)
    axes[-1].set_xlabel("MB/s")
    page.add("Rates", PERSIST, figure)


def add_slots(page, report):
    details = report["details"]
    figure = new_figure(11, 0.9 + 0.5 * len(details))
    left, right = figure.subplots(1, 2, sharey=True)
    for axis, key, label in ((left, "mb_per_busy_s", "MB/s while the target was busy"), (right, "worst_write_s", "s of the longest write")):
        for place, one in enumerate(details):
            middle = float(np.median(one[key]))
            axis.barh(place, middle, height=0.55, color=OTHER if one["schedule"] == "immediate" else OURS, alpha=0.6)
            axis.plot(one[key], [place] * len(one[key]), "o", color="black", markersize=3)
            axis.annotate(f" {number(middle)}", (max(one[key]), place), va="center", fontsize=8)
        axis.set(xlabel=label, xlim=(0, 1.15 * max(max(one[key]) for one in details)))
    left.set(yticks=range(len(details)), ylim=(len(details) - 0.5, -0.5))
    left.set_yticklabels([one["schedule"] for one in details])
    page.add("Rate and longest write", SLOTS, figure)
