"""The page of bench cm1, drawn from its JSON alone; by itself: cores_pictures.py JSON PAGE.

Used by: bench_cm1.py. Before it: its report. After it: an HTML page.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/page",)]

import numpy as np  # noqa: E402

from cores_summary import best_of  # noqa: E402
from cores_table import cores_text, runs_text, storage_text  # noqa: E402
from machine import machine_text  # noqa: E402
from model import most_gain  # noqa: E402
from page import Page, new_figure  # noqa: E402

PARTS = {"compute": "#0072b2", "write": "#d55e00", "rest": "#cccccc"}
SOLUTION = """A bar is a run: median of the time to solution, to the last byte that was written; with damaris to the last one on
disk, which the others leave to the system. Rest is what is neither computing nor writing: start, end, and with damaris the
wait for the last outputs to be stored."""
PAYS = """How much longer the best other way takes than the dedicated core, over the output's share without one. Below 1 the core
is missed. The line is the most that can be gained when all of the output is hidden; the dotted one the share from which it pays:
docs/when-does-it-pay.md."""
ALONE = """The same storm without output, on all cores and with one and two less. With work that divides evenly and cores that
do not hinder each other, one core less of N takes N / (N - 1) of the time."""


def draw_page(report, path):
    page = Page("Does a dedicated core pay?", f"{introduction(report)}\n\n{machine_text(report['machine'])}")
    add_sections(page, report)
    page.write(path)


def add_sections(page, report):
    page.add("Time to solution at equal cores", SOLUTION, draw_solution(report))
    page.add("From which output on it pays", PAYS, draw_gain(report), table=points_table(report))
    page.add("A core less", ALONE, table=alone_table(report))
    page.add("Rows", "" if report["rows"] else "None of the outputs was large enough.", table=rows_table(report["rows"]))


def introduction(report):
    settings = report["settings"]
    return (f"The CM1 mini-app on {cores_text(settings)}, with a rank on each: all of them compute, or one is dedicated to the output "
            f"and the others have larger tiles. {settings['outputs'] + 1} outputs, {runs_text(settings)} of each way, interleaved in an "
            f"order drawn anew. Storage: {storage_text(settings)}.")


def draw_solution(report):
    details = report["details"]
    figure = new_figure(11, 0.8 + 0.35 * sum(len(detail["runs"]) + 1 for detail in details))
    axis = figure.subplots()
    labels, place = [], 0
    for detail in details:
        axis.annotate(f"work {detail['work']}", (0, place - 0.65), fontsize=9, fontweight="bold", annotation_clip=False)
        for way, runs in detail["runs"].items():
            draw_bar(axis, place, runs)
            labels.append((place, way))
            place += 1
        place += 1
    axis.set(xlabel="s", yticks=[at for at, _ in labels], ylim=(place - 1.2, -1.1))
    axis.set_yticklabels([way for _, way in labels])
    handles = [axis.barh([0], [0], color=colour, label=part) for part, colour in PARTS.items()]
    figure.legend(handles=handles, loc="outside upper right", ncols=len(PARTS), frameon=False)
    return figure


def draw_bar(axis, place, runs):
    compute = np.median([run["compute_s"] for run in runs])
    write = np.median([sum(run["writes_s"]) for run in runs])
    whole = np.median([run["solution_s"] for run in runs])
    left = 0
    for seconds, colour in zip((compute, write, max(whole - compute - write, 0)), PARTS.values()):
        axis.barh(place, seconds, left=left, color=colour)
        left += seconds
    spread = [run["solution_s"] for run in runs]
    axis.plot([min(spread), max(spread)], [place, place], color="black", linewidth=1)
    axis.annotate(f" {whole:.2f}", (max(left, max(spread)), place), va="center", fontsize=8)


def draw_gain(report):
    points, cores = report["points"], report["settings"]["cores"]
    figure = new_figure(11, 3.8)
    axis = figure.subplots()
    shares = [point["share"][best_of(point)] for point in points]
    scaling = float(np.median([point["scaling"] for point in points]))
    line = np.linspace(0, 1.15 * max(shares), 100)
    axis.plot(line, [most_gain(cores, share, scaling) for share in line], color="#888888", label="all of the output hidden")
    axis.plot(shares, [point["solution_s"][best_of(point)] / point["predicted_s"] for point in points], "o", color="#0072b2",
              fillstyle="none", markersize=9, label="forecast")
    axis.plot(shares, [point["solution_s"][best_of(point)] / point["solution_s"]["damaris"] for point in points], "o", color="#009e73",
              label="measured")
    axis.axvline(float(np.median([point["break_even"] for point in points])), color="black", linestyle=":", linewidth=1)
    axis.axhline(1, color="black", linewidth=0.6)
    axis.set(xlabel="output by compute time, without a dedicated core", ylabel="best other way / damaris", xlim=(0, line[-1]))
    axis.legend(frameon=False)
    return figure


def points_table(report):
    heads = ["work", "fpp", "collective", "best, s", "damaris, s", "forecast, s", "gain", "pays from"]
    return heads, [[point["work"], f"{point['share']['fpp']:.2f}", f"{point['share']['collective']:.2f}",
                    f"{point['solution_s'][best_of(point)]:.2f}", f"{point['solution_s']['damaris']:.2f}", f"{point['predicted_s']:.2f}",
                    f"{point['solution_s'][best_of(point)] / point['solution_s']['damaris']:.2f}", f"{point['break_even']:.2f}"]
                   for point in report["points"]]


def alone_table(report):
    counts = list(report["points"][0]["alone_s"])
    heads = ["work", *[f"{dedicated} dedicated, s" for dedicated in counts], "one less / all"]
    return heads, [[point["work"], *[f"{point['alone_s'][dedicated]:.2f}" for dedicated in counts],
                    f"{point['alone_s']['1'] / point['alone_s']['0']:.3f}"] for point in report["points"]]


def rows_table(rows):
    return (["", "ratio", "interval", "good", "aim"],
            [[one["name"], f"{one['ratio']:.3g}", "{:.3g} to {:.3g}".format(*one["interval"]), one["good"], one["aim"]] for one in rows])


if __name__ == "__main__":
    draw_page(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
