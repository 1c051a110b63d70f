"""What is said about runs at equal cores: shares of output, the model's forecast, and the rows.

Used by: bench_cm1.py, its table and its pictures. Before it: details as README.md describes them. After it: points and rows.
"""

import numpy as np

from model import break_even, predict
from quotients import pooled_quantiles, row

BUFFER_BYTES = 64 << 20  # of cm1.xml
BEST_ROW = ("best other way / damaris, from the break-even on", 1.0, 1.02)
HALF_ROW = ("collective / damaris, where writes are half", 1.5, 3.3)


def median(runs, key):
    return float(np.median([run[key] for run in runs]))


def points_of(report):
    return [point_of(detail, report["settings"]) for detail in report["details"]]


def point_of(detail, settings):
    """One multiplier of the work: times in seconds, of an interval between two outputs where they are not of a run."""
    cores, outputs = settings["cores"], settings["outputs"]
    alone = {dedicated: float(np.median(times)) for dedicated, times in detail["alone"].items()}
    ours = detail["runs"]["damaris"]
    visible = float(np.median([seconds for run in ours for seconds in run["writes_s"]]))
    server = float(np.median([seconds for run in ours for seconds in run["server_s"]]))
    compute = (alone["1"] + median(ours, "diagnose_s")) / outputs  # without output nothing is diagnosed
    room = int(BUFFER_BYTES // (ours[0]["stored_bytes"] / (outputs + 1)))
    shares = {way: share_of(detail["runs"][way], alone["0"]) for way in ("fpp", "collective")}
    return dict(work=detail["work"], alone_s=alone, compute_s=compute, visible_s=visible, server_s=server, share=shares,
                scaling=alone["1"] / alone["0"] * (cores - 1) / cores,
                break_even=break_even(cores, alone["1"] / alone["0"] * (cores - 1) / cores, visible * outputs / alone["0"]),
                solution_s={way: median(runs, "solution_s") for way, runs in detail["runs"].items()},
                predicted_s=predict(compute, visible, server, outputs, room))


def share_of(runs, alone_s):
    """Time in write phases, relative to the run without output on all cores."""
    return float(np.median([sum(run["writes_s"]) for run in runs])) / alone_s


def rows_of(report):
    points, rows = report["points"], []
    paying = [(point, detail) for point, detail in zip(points, report["details"]) if point["share"][best_of(point)] >= point["break_even"]]
    if paying:
        found = [quotient(detail["runs"], best_of(point)) for point, detail in paying]
        rows.append(row_of(BEST_ROW, min(found), report["settings"]))
    half = min(zip(points, report["details"]), key=lambda pair: abs(np.log(pair[0]["share"]["collective"])))
    if 0.5 <= half[0]["share"]["collective"] <= 2:
        rows.append(row_of(HALF_ROW, quotient(half[1]["runs"], "collective"), report["settings"]))
    return rows


def best_of(point):
    return min(("fpp", "collective"), key=lambda way: point["solution_s"][way])


def quotient(runs, way):
    """Time to solution of a way by that of damaris: value, low, high."""
    return pooled_quantiles(*([[run["solution_s"]] for run in runs[name]] for name in (way, "damaris")), 0.5)


def row_of(kind, found, settings):
    name, good, aim = kind
    return row(f"time to solution, {name}{parts_text(settings)}", found, "higher", good, aim)


def parts_text(settings):
    return f", {settings['cores']} parts of cores" if settings["part_of_a_core"] < 1 else ""
