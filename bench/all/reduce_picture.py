"""The picture of bench reduce: speed against ratio, HDF5's filters and ours, field by field.

Used by: chapters.py. Before it: its report. After it: a section of the page.
"""

import re

from page import new_figure

HDF5, OURS = "#d55e00", "#009e73"
TICKS = (1, 1.5, 2, 3, 5, 10, 20, 50, 100)
TEXT = """From HDF5's filters (orange) to ours (green) with the best instructions of this processor: further up is faster, further right is
smaller. Large points are all fields of a time together, and turbulence to compare with; small ones single fields."""
NO_FIELDS = " A quick campaign measures no single fields."


def add_reduce(page, report):
    cases = {}
    for one in report["details"]:
        cases.setdefault(one["case"], []).append(one)
    page.add("Speed against ratio", TEXT + ("" if any(map(is_single, cases)) else NO_FIELDS), draw(cases), table(cases))


def is_single(case):
    """'t01800 u': not the name of a row."""
    return "field" not in case


def time_of(case):
    """'t01800' of 't01800 u' and of '16 bits, 8 CM1 fields, t01800'; '' without one."""
    found = re.search(r"\bt\d+\b", case)
    return found[0] if found else ""


def draw(cases):
    times = sorted({time_of(case) for case in cases} - {""}) or [""]
    figure = new_figure(11, 5)
    axes = figure.subplots(1, len(times), sharex=True, sharey=True, squeeze=False)[0]
    for axis, time in zip(axes, times):
        for case, ways in cases.items():
            if time_of(case) in (time, ""):
                draw_case(axis, case, ways)
        axis.set(xscale="log", yscale="log", xlabel="ratio: raw bytes by stored bytes")
        axis.set_title(time, loc="left")
        axis.margins(x=0.15, y=0.1)
        axis.grid(color="#eeeeee", linewidth=0.6)
        axis.set_axisbelow(True)
    label_ticks(axes[0])
    return figure


def draw_case(axis, case, ways):
    theirs, ours = ways[0], ways[1]
    single = is_single(case)
    points = [(way["ratio"], way["mb_per_cpu_s"]) for way in (theirs, ours)]
    axis.plot(*zip(*points), color="#bbbbbb", linewidth=0.8 if single else 1.6, zorder=1)
    for way, colour in ((theirs, HDF5), (ours, OURS)):
        axis.plot(way["ratio"], way["mb_per_cpu_s"], "o", color=colour, markersize=4 if single else 9, alpha=0.7)
    if single:
        axis.annotate(case.split()[-1], (ours["ratio"], ours["mb_per_cpu_s"]), xytext=(4, 5), textcoords="offset points", fontsize=7.5)
    else:  # below, where there is room
        axis.annotate(f"{short(case, time_of(case))} {ours['speed']:.1f}x", (theirs["ratio"], theirs["mb_per_cpu_s"]), xytext=(7, -7),
                      textcoords="offset points", fontsize=8.5)


def label_ticks(axis):
    low, high = axis.get_xlim()
    axis.set_xticks([tick for tick in TICKS if low <= tick <= high])
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    axis.set_ylabel("MB of raw data per second of processor time")


def short(case, time=""):
    return case.removeprefix("deflate ").replace(", a tile a chunk", "").removesuffix(f", {time}")


def table(cases):
    heads = ["", "HDF5, MB/s", "ratio", "ours, MB/s", "ratio", "speed", "without AVX-512"]
    return heads, [table_line(case, ways) for case, ways in cases.items()]


def table_line(case, ways):
    theirs, ours = ways[0], ways[1]
    slower = [f"{way['speed']:.1f}x" for way in ways if way["way"] == "planes, avx2"]
    return [short(case), f"{theirs['mb_per_cpu_s']:.0f}", f"{theirs['ratio']:.3g}", f"{ours['mb_per_cpu_s']:.0f}", f"{ours['ratio']:.3g}",
            f"{ours['speed']:.1f}x", *(slower[:1] or [""])]
