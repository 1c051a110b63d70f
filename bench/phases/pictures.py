"""The page of bench phases, drawn from its JSON alone; by itself: pictures.py JSON PAGE.

Used by: bench_phases.py. Before it: its report. After it: an HTML page.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page")]

import numpy as np  # noqa: E402

from cpu_use import draw_cpu_use  # noqa: E402
from machine import machine_text  # noqa: E402
from page import Page  # noqa: E402
from quotients import mark  # noqa: E402
from storage import names_of, of_storage, storage_text  # noqa: E402
from storage_picture import draw_storages  # noqa: E402
from summary import idle_share, processor_time, slowest, throughput, too_busy  # noqa: E402
from tiles import draw_tiles  # noqa: E402
from times import draw_strips, draw_sweep, time_text  # noqa: E402

TILES = """A tile is a write phase, a bar in it a process: the slowest at the bottom fills the width, white is time that the others
wait for it. Colour tells the throughput that the simulation sees, on one scale for all. Bars of different tiles cannot be compared
by length. Of each way the first counted run.

damaris ends when the values are in shared memory. Storage {}: {}."""
STRIPS = """Every write time of every process in all counted runs: a dot each, thick from the 5th to the 95th percentile, a bar at the
median, a triangle at the longest."""
CPU = """What the ranks did with the processor: of each way the first counted run, all over the same time. Dotted: the end of a write phase.
White was not used by this run: idle, or used by others. The ranks of damaris compute as much as those of the other ways, with the
dedicated core taken from them. Copies that are made to compare with count as computing."""
SWEEP = """Left: fastest, mean and slowest process, averaged over the phases. Right: of the time between two write phases, how much the
dedicated core takes until the files are durable."""


WAYS = """A write phase takes as long as its slowest process. CPU, computing: processor time of a phase, of all ranks that compute; what a
dedicated core uses is in the picture of the processor. Whole run: with a dedicated core the others compute its share, so it is charged."""
STORAGE = """The median of the write phases of each way with each storage. With damaris the simulation waits for a copy into memory,
whatever is behind it, as long as the dedicated core keeps up: it has the time between two phases."""


def draw_page(report, path):
    page = Page("How long a simulation waits for its output", f"{introduction(report)}\n\n{machine_text(report['machine'])}")
    add_sections(page, report)
    page.write(path)


def add_sections(page, report):
    storage = names_of(report["details"])[0]
    details = of_storage(report["details"], storage)  # of the other ones tell the tables, and one picture
    page.add("Figures", rows_text(report), table=rows_table(report["rows"]) if report["rows"] else None)
    page.add("Ways of writing", WAYS, table=ways_table(report["details"]))
    if len(names_of(report["details"])) > 1:
        page.add("Storage", storage_section(report["details"]), draw_storages(report["details"]))
    page.add("Write phases, process by process", TILES.format(storage, storage_text(storage)),
             draw_tiles({detail["way"]: detail["runs"][0] for detail in details}))
    page.add("Write times", STRIPS, draw_strips(details))
    page.add("Use of the processor", CPU, draw_cpu_use(details, report["machine"]["cores"]))
    if "sweep" in report:
        page.add("Size of the output", SWEEP, draw_sweep(report["sweep"]))


def storage_section(details):
    kept = [f"Storage {name}: {storage_text(name)}." for name in names_of(details)]
    busy = [f"{way}, storage {name}: the dedicated core writes a phase in {time_text(write)}, and the next one comes after {time_text(interval)}: "
            "the simulation may wait for room in the buffer." for way, name, write, interval in too_busy(details)]
    return "\n\n".join([STORAGE, *kept, *busy])


def introduction(report):
    machine, settings = report["machine"], report["settings"]
    shared = f" {settings['ranks']} ranks share {machine['cores']} cores." if machine["cores"] < settings["ranks"] else ""
    runs = len(report["details"][0]["runs"])
    return (f"{settings['ranks']} ranks of {settings['bytes'] / 2**20:.3g} MiB each, {settings['phases']} phases, "
            f"{runs} run{'' if runs == 1 else 's'} of each way, interleaved in an order drawn anew. All ways write the same "
            f"values.{shared}")


def rows_text(report):
    if not report["rows"]:
        return "No rows: damaris was not among the ways."
    runs = len(report["details"][0]["runs"])
    few = "" if runs > 5 else f", of {runs}: from the least to the greatest" if runs > 1 else ", of one: there is no interval"
    return f"Medians, with intervals from resampling whole runs{few}. + good is reached, * the aim."


def rows_table(rows):
    return (["", "ratio", "interval", "good", "aim", "CPU time of the computing ranks"],
            [[f"{one['name']} {mark(one)}", f"{one['ratio']:.3g}", "{:.3g} to {:.3g}".format(*one["interval"]), one["good"], one["aim"],
              f"{one['cpu_ratio']:.3g}" if "cpu_ratio" in one else ""] for one in rows])


def ways_table(details):
    heads = ["", "storage", "median", "p95", "max", "GB/s", "waiting", "CPU, computing", "whole run", "files", "stored"]
    return heads, [way_line(detail) for detail in details]


def way_line(detail):
    runs = detail["runs"]
    times = np.concatenate([slowest(run) for run in runs])
    idle = np.median([idle_share(phase) for run in runs for phase in run["visible_s"]])
    return [detail["way"], detail["storage"], time_text(np.median(times)), time_text(np.quantile(times, 0.95)), time_text(times.max()),
            f"{np.median(np.concatenate([throughput(run) for run in runs])) / 1e9:.2f}", f"{100 * idle:.0f} %",
            time_text(np.median(np.concatenate([processor_time(run) for run in runs]))),
            f"{np.median([run['wall_s'] for run in runs]):.1f} s", detail["files"], f"{detail['stored_bytes'] / 1e6:.0f} MB"]


if __name__ == "__main__":
    draw_page(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
