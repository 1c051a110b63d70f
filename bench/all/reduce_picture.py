"""The picture of bench reduce: speed against ratio, HDF5's filters and ours, field by field.

Used by: chapters.py. Before it: its report. After it: a section of the page.
"""

from page import new_figure

HDF5, OURS = "#d55e00", "#009e73"
THEIRS = "HDF5 shuffle+deflate 1"
TEXT = """From HDF5's filters (orange) to ours (green) with the best instructions of this processor: further up is faster, further right is smaller.
Large points are all fields of a time together, small ones single fields."""
NO_FIELDS = " A quick campaign measures no single fields."


def add_reduce(page, report):
    cases = {}
    for one in report["details"]:
        cases.setdefault(one["case"], []).append(one)
    single = [case for case in cases if is_single(case)]
    page.add("Speed against ratio", TEXT + ("" if single else NO_FIELDS), draw(cases), table(cases))


def is_single(case):
    """'t01800 u': not the name of a row."""
    return "field" not in case


def draw(cases):
    figure = new_figure(11, 5.5)
    axis = figure.subplots()
    for case, ways in cases.items():
        theirs, ours = ways[0], ways[1]
        size, weight = (4, 0.8) if is_single(case) else (9, 1.6)
        axis.plot(*zip(*((way["ratio"], way["mb_per_cpu_s"]) for way in (theirs, ours))), color="#bbbbbb", linewidth=weight, zorder=1)
        axis.plot(theirs["ratio"], theirs["mb_per_cpu_s"], "o", color=HDF5, markersize=size, alpha=0.7)
        axis.plot(ours["ratio"], ours["mb_per_cpu_s"], "o", color=OURS, markersize=size, alpha=0.7)
        axis.annotate(f"{short(case)} {ours['speed']:.1f}x", (ours["ratio"], ours["mb_per_cpu_s"]), xytext=(4, 5),
                      textcoords="offset points", fontsize=7.5 if is_single(case) else 9)
    axis.set(xscale="log", yscale="log", xlabel="ratio: raw bytes by stored bytes", ylabel="MB of raw data per second of processor time")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter(lambda value, _: f"{value:g}")
        scale.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    axis.margins(x=0.12, y=0.1)
    axis.grid(color="#eeeeee", linewidth=0.6)
    axis.set_axisbelow(True)
    return figure


def short(case):
    return case.removeprefix("deflate ").replace(", a tile a chunk", "")


def table(cases):
    heads = ["", "HDF5, MB/s", "ratio", "ours, MB/s", "ratio", "speed", "without AVX-512"]
    return heads, [[short(case), f"{ways[0]['mb_per_cpu_s']:.0f}", f"{ways[0]['ratio']:.3g}", f"{ways[1]['mb_per_cpu_s']:.0f}",
                    f"{ways[1]['ratio']:.3g}", f"{ways[1]['speed']:.1f}x", next((f"{way['speed']:.1f}x" for way in ways
                                                                                if way["way"] == "planes, avx2"), "")]
                   for case, ways in cases.items()]
