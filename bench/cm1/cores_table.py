"""The table that bench cm1 prints, at most 80 columns wide.

Used by: bench_cm1.py. Before it: its report. After it: the terminal.
"""

from statistics import median

from cores_summary import parts_text
from model import most_gain
from quotients import ROW_HEADING, row_line


def print_report(console, report):
    for line in [*heading(report), "", *lines(report), "", *row_lines(report), *caveats(report)]:
        console.print(line, markup=False)


def heading(report):
    settings = report["settings"]
    yield ""
    yield f"{cores_text(settings)}, {settings['outputs'] + 1} outputs, {runs_text(settings)} of each"
    yield f"storage: {storage_text(settings)}"


def cores_text(settings):
    part = settings["part_of_a_core"]
    return f"{settings['cores']} cores" + (f" (a part of {part:.3g} of one each)" if part < 1 else "")


def runs_text(settings):
    return f"{settings['repeats']} run" + ("s" if settings["repeats"] > 1 else "")


def storage_text(settings):
    rate = settings["storage_bytes_per_s"]
    return f"{rate / 1e6:.3g} MB/s for all" if rate else "as it is"


def lines(report):
    yield f"{'':8}{'output / compute':^18}{'time to solution, s':^36}{'best /':>9}{'pays':>7}"
    yield f"{'work':8}{'fpp':>9}{'collect.':>9}{'fpp':>8}{'collect.':>9}{'damaris':>9}{'forecast':>10}{'damaris':>9}{'from':>7}"
    for point in report["points"]:
        times = point["solution_s"]
        best = min(times["fpp"], times["collective"])
        yield (f"{point['work']:<8}{point['share']['fpp']:9.2f}{point['share']['collective']:9.2f}{times['fpp']:8.2f}"
               f"{times['collective']:9.2f}{times['damaris']:9.2f}{point['predicted_s']:10.2f}{best / times['damaris']:9.2f}"
               f"{point['break_even']:7.2f}")
    yield ""
    for point in report["points"]:
        yield f"work {point['work']} without output: {alone_text(point)}"


def alone_text(point):
    return ", ".join(f"{seconds:.2f} s" + (f" with {left_out} core{'s' if left_out != '1' else ''} less" if left_out != "0" else "")
                     for left_out, seconds in point["alone_s"].items())


def row_lines(report):
    yield ROW_HEADING
    for one in report["rows"]:
        name = one["name"].removeprefix("time to solution, ").removesuffix(parts_text(report["settings"]))
        yield row_line(one, name.replace("the break-even", "break-even"))


def caveats(report):
    machine, cores = report["machine"], report["settings"]["cores"]
    dearer = median(point["alone_s"]["1"] / point["alone_s"]["0"] for point in report["points"])
    most = most_gain(cores, 1, dearer * (cores - 1) / cores)
    yield f"\nA core less takes {dearer:.3g} of the time without output: where writes are half,\nwho hides them all gains {most:.3g} at most."
    if not any("break-even on" in one["name"] for one in report["rows"]):
        yield "No output was large enough for a dedicated core to pay; make the storage slower or the work less."
    if machine["load_1min_at_start"] > 0.5:
        yield f"load at the start: {machine['load_1min_at_start']:.1f}; others used this machine: look at the medians."
