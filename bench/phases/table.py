"""The table that bench phases prints, at most 80 columns wide.

Used by: bench_phases.py. Before it: its report. After it: the terminal.
"""

import numpy as np

from quotients import ROW_HEADING, row_line
from storage import names_of, of_storage
from summary import idle_share, slowest, throughput, too_busy


def print_report(console, report):
    settings, details = report["settings"], report["details"]
    console.print(f"\n{settings['ranks']} ranks, {settings['bytes'] / 2**20:.3g} MiB each, {settings['phases']} phases, "
                  f"{len(details[0]['runs'])} runs;\na write phase takes as long as its slowest process\n", markup=False)
    console.print(f"{'':25}{'median':>8}{'p95':>8}{'max':>8}{'apparent':>9}{'waiting':>8}{'files':>6}{'stored':>8}")
    console.print(f"{'':25}{'ms':>8}{'ms':>8}{'ms':>8}{'GB/s':>9}{'%':>8}{'':>6}{'MB':>8}")
    names = names_of(details)
    for name in names:
        print_heading(console, names, name)
        for detail in of_storage(details, name):
            console.print(line_of(detail), markup=False)
    console.print(f"\n{ROW_HEADING}", markup=False)
    for name in names:
        print_heading(console, names, name)
        for one in of_storage(report["rows"], name):
            console.print(row_line(one, short_name(one)), markup=False)
    for line in caveats(report):
        console.print(line, markup=False)


def print_heading(console, names, name):
    if names != ["cache"]:
        console.print(f"storage {name}:", markup=False)


def short_name(one):
    return one["name"].split(", storage ")[0].removeprefix("write phase seen by the simulation, ").replace("of a write phase ", "")


def line_of(detail):
    runs = detail["runs"]
    times = np.concatenate([slowest(run) for run in runs]) * 1e3
    rate = np.median(np.concatenate([throughput(run) for run in runs])) / 1e9
    idle = np.median([idle_share(phase) for run in runs for phase in run["visible_s"]]) * 100
    return (f"{detail['way']:25}{np.median(times):8.1f}{np.quantile(times, 0.95):8.1f}{times.max():8.1f}{rate:9.2f}{idle:8.0f}"
            f"{detail['files']:6}{detail['stored_bytes'] / 1e6:8.0f}")


def caveats(report):
    machine, ranks = report["machine"], report["settings"]["ranks"]
    for way, name, write, interval in too_busy(report["details"]):
        yield (f"\n{way}, storage {name}: the dedicated core writes a phase in {write:.2g} s,\nand the next one comes after {interval:.2g} s: "
               "the simulation may wait for room in\nthe buffer. Is the output as frequent as meant? If not, raise --compute.")
    if report["left_out"]:
        yield f"\nNot built in, and left out: {', '.join(report['left_out'])}. For why:\n./dev bench phases --ways {report['left_out'][0]}"
    if machine["cores"] < ranks:
        yield f"\n{ranks} ranks share {machine['cores']} cores here."
    if machine["load_1min_at_start"] > 0.5:
        yield f"load at the start: {machine['load_1min_at_start']:.1f}; others used this machine: look at the medians."
