"""Write times: a strip for each way, and over the size of the output as in the paper's figures 13 and 14.

Used by: pictures.py. Before it: runs. After it: one figure each.
"""

import numpy as np

from page import new_figure
from summary import all_times

COLOURS = {"file-per-process": "#d55e00", "damaris": "#009e73"}


def draw_strips(details):
    """Every write time of every process; thick from p5 to p95, a bar at the median, a triangle at the longest."""
    figure = new_figure(11, 0.8 + 0.45 * len(details))
    axis = figure.subplots()
    spread = np.random.default_rng(7)
    for place, detail in enumerate(details):
        colour = COLOURS.get(detail["way"], "#0072b2")
        times = all_times(detail["runs"])
        low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
        axis.plot(times, place + spread.uniform(-0.25, 0.25, len(times)), ".", color=colour, alpha=0.3, markersize=3)
        axis.plot([low, high], [place, place], color=colour, linewidth=6, alpha=0.5, solid_capstyle="butt")
        axis.plot([middle, middle], [place - 0.3, place + 0.3], color="black", linewidth=2)
        axis.plot(times.max(), place, ">", color="black", markersize=5)
        axis.annotate(time_text(middle), (middle, place - 0.32), ha="center", va="bottom", fontsize=7)
    axis.set(xscale="log", xlabel="write time of a process in a phase", yticks=range(len(details)))
    axis.set_yticklabels([detail["way"] for detail in details])
    axis.xaxis.set_major_formatter(lambda seconds, _: time_text(seconds))
    axis.set_ylim(len(details) - 0.5, -0.7)
    axis.grid(axis="x", which="major", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    return figure


def draw_sweep(points):
    figure = new_figure(11, 3.8)
    left, right = figure.subplots(1, 2)
    draw_write_times(left, points)
    draw_server(right, [point for point in points if point["way"] == "damaris"])
    return figure


def draw_write_times(axis, points):
    for way, colour in COLOURS.items():
        mine = [point for point in points if point["way"] == way]
        sizes = [total_mb(point) for point in mine]
        phases = [np.array([times for run in point["runs"] for times in run["visible_s"]]) for point in mine]
        low, mean, high = ([float(np.mean(pick(times, axis=1))) for times in phases] for pick in (np.min, np.mean, np.max))
        axis.fill_between(sizes, low, high, color=colour, alpha=0.25, linewidth=0)
        axis.plot(sizes, mean, "o-", color=colour, label=way)
    axis.set(xscale="log", yscale="log", xlabel="output of all processes in a phase, MB", ylabel="write time",
             title="What the simulation sees: fastest, mean, slowest process")
    axis.yaxis.set_major_formatter(lambda seconds, _: time_text(seconds))
    plain_sizes(axis, sizes)
    axis.legend(frameon=False)


def draw_server(axis, points):
    places = range(len(points))
    write = np.array([mean_of(point, "write_s") for point in points])
    interval = np.array([mean_of(point, "interval_s") for point in points])
    idle = np.clip(interval - write, 0, None)
    axis.bar(places, write, color=COLOURS["damaris"], label="writing, until durable")
    axis.bar(places, idle, bottom=write, color="#dddddd", label="idle")
    for place, total, share in zip(places, np.maximum(write, interval), idle / np.maximum(write, interval)):
        axis.annotate(f"idle {100 * share:.0f} %", (place, total), ha="center", va="bottom", fontsize=8)
    axis.set(xlabel="output of all processes in a phase, MB", ylabel="s between two write phases",
             title="What the dedicated core does meanwhile", xticks=list(places), ylim=(0, 1.25 * float(np.maximum(write, interval).max())))
    axis.set_xticklabels([f"{total_mb(point):.3g}" for point in points])
    axis.legend(frameon=False, ncols=2, loc="upper left")


def plain_sizes(axis, sizes):
    axis.set_xticks(sizes, [f"{size:.3g}" for size in sizes])
    axis.set_xticks([], minor=True)


def mean_of(point, key):
    return float(np.mean(np.concatenate([run["server"][key] for run in point["runs"]])))


def total_mb(point):
    return sum(point["runs"][0]["bytes"]) / 1e6


def time_text(seconds):
    for least, unit in ((1, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * least:
            return f"{seconds / least:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
