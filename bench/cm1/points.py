"""What is said about runs at equal cores: shares of output, the forecast of docs/when-does-it-pay.md, the rows and the table.

Used by: bench_cm1.py. Before it: details as README.md describes them. After it: points and rows.
"""

import numpy as np

from rows import quotient, row

BUFFER_BYTES = 64 << 20  # of cm1.xml
BEST_ROW = ("best other way / damaris, from the break-even on", 1.0, 1.02)
HALF_ROW = ("collective / damaris, where writes are half", 1.5, 3.3)
HEADS = ["work", "r fpp", "r coll", "fpp", "coll", "damaris", "forecast", "gain", "from", "alone", "1 less"]


def predict(compute_s, visible_s, server_s, outputs, room):
    """Time to solution with a dedicated core, in seconds.

    compute_s, visible_s: between two outputs, with one core less; server_s: until an output is stored; outputs: after
    the first, which comes at the start; room: outputs that fit into the buffer.
    """
    simulation = visible_s
    stored = [simulation + server_s]
    for output in range(1, outputs + 1):
        simulation += compute_s + visible_s
        if output >= room:
            simulation = max(simulation, stored[output - room])
        stored.append(max(simulation, stored[-1]) + server_s)
    return max(simulation, stored[-1])


def break_even(cores, scaling=1.0, visible=0.0):
    """Write time by compute time from which a dedicated core pays. scaling: C_ded by C N / (N - 1); visible: V / C."""
    return scaling * cores / (cores - 1) - 1 + visible


def most_gain(cores, share, scaling=1.0):
    """Time to solution without a dedicated core by that with one, when it hides all of the output."""
    return (1 + share) / (scaling * cores / (cores - 1))


def median(runs, key):
    return float(np.median([run[key] for run in runs]))


def points_of(settings, details):
    return [point_of(detail, settings["cores"], settings["outputs"]) for detail in details]


def point_of(detail, cores, outputs):
    """One multiplier of the work: times in seconds, of an interval between two outputs where they are not of a run."""
    alone = {dedicated: float(np.median(times)) for dedicated, times in detail["alone"].items()}
    ours = detail["runs"]["damaris"]
    visible = float(np.median([seconds for run in ours for seconds in run["writes_s"]]))
    server = float(np.median([seconds for run in ours for seconds in run["server_s"]]))
    compute = (alone["1"] + median(ours, "diagnose_s")) / outputs  # without output nothing is diagnosed
    room = int(BUFFER_BYTES // (ours[0]["stored_bytes"] / (outputs + 1)))
    scaling = alone["1"] / alone["0"] * (cores - 1) / cores
    solution = {way: median(runs, "solution_s") for way, runs in detail["runs"].items()}
    best = min(("fpp", "collective"), key=solution.get)
    return dict(work=detail["work"], alone_s=alone, compute_s=compute, visible_s=visible, server_s=server, scaling=scaling, best=best,
                share={way: share_of(detail["runs"][way], alone["0"]) for way in ("fpp", "collective")},
                break_even=break_even(cores, scaling, visible * outputs / alone["0"]), solution_s=solution,
                gain=solution[best] / solution["damaris"], predicted_s=predict(compute, visible, server, outputs, room))


def share_of(runs, alone_s):
    """Time in write phases, relative to the run without output on all cores."""
    return float(np.median([sum(run["writes_s"]) for run in runs])) / alone_s


def rows_of(settings, points, details):
    """Rows, and what to say beside them."""
    pairs, rows, cores = list(zip(points, details)), [], settings["cores"]
    parts = f", {cores} parts of cores" if settings["part_of_a_core"] < 1 else ""
    found = [against(detail["runs"], point["best"]) for point, detail in pairs if point["share"][point["best"]] >= point["break_even"]]
    if found:
        rows.append(row(f"time to solution, {BEST_ROW[0]}{parts}", min(found), "higher", *BEST_ROW[1:]))
    half, detail = min(pairs, key=lambda pair: abs(np.log(pair[0]["share"]["collective"])))
    if 0.5 <= half["share"]["collective"] <= 2:
        rows.append(row(f"time to solution, {HALF_ROW[0]}{parts}", against(detail["runs"], "collective"), "higher", *HALF_ROW[1:]))
    scaling = float(np.median([point["scaling"] for point in points]))
    notes = [f"Where writes are half of the time, hiding all of them gains at most {most_gain(cores, 1, scaling):.3g} here."]
    if not found:
        notes.append("No output was large enough for a dedicated core to pay; use a slower storage or less work.")
    return rows, notes


def against(runs, way):
    """Time to solution of a way by that of damaris: value, low, high."""
    return quotient(*([[run["solution_s"]] for run in runs[name]] for name in (way, "damaris")))


def table_of(settings, points):
    rate, part = settings["storage_bytes_per_s"], settings["part_of_a_core"]
    text = (f"{settings['cores']} cores{f' (a part of {part:.3g} of one each)' if part < 1 else ''}, {settings['outputs'] + 1} outputs, "
            f"{settings['repeats']} runs of each; storage: {f'{rate / 1e6:.3g} MB/s for all' if rate else 'as it is'}; "
            "r: output time / compute time; the other columns, except the gain, in s to solution")
    return dict(text=text, heads=HEADS, lines=[line_of(point) for point in points])


def line_of(point):
    times = point["solution_s"]
    numbers = [point["share"]["fpp"], point["share"]["collective"], times["fpp"], times["collective"], times["damaris"],
               point["predicted_s"],
               point["gain"], point["break_even"], point["alone_s"]["0"], point["alone_s"]["1"]]
    return [str(point["work"]), *[f"{number:.2f}" for number in numbers]]
