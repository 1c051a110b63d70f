"""The demo: one storm, four ways of output, one table and one picture.

Runs the CM1 mini-app on 4 computing ranks with the back ends none, fpp (file per process), collective
(one shared HDF5 file) and damaris (two virtual nodes, each of two clients and one dedicated core).
"""

import argparse
import os
import shutil
import signal
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from read_cm1 import files_of, read_output, same_bits, timers
from run_cm1 import RunFailed, find_program, launch, prepare

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("none", "fpp", "collective", "damaris")
LABELS = dict(none="none", fpp="file per process", collective="collective HDF5", damaris="damaris")
COMPUTING_RANKS, RANKS_PER_NODE, CLIENTS_PER_NODE = 4, 3, 2
LIMIT_S = 300

STORM = dict(nx=64, ny=64, nz=40, dx=1000.0, dy=1000.0, dz=500.0, dtl=6.0, timax=2400.0, tapfrq=300.0, statfrq=60.0)
QUICK = dict(STORM, nx=24, ny=24, nz=20, zd=8000.0, timax=240.0, tapfrq=60.0)


@dataclass
class Result:
    backend: str
    folder: Path
    seconds: float
    writes: list  # seconds of each write phase of each rank
    files: int
    size: int


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like an interrupt: the runs go too
    options = parse_arguments()
    console = Console(width=min(80, Console().width), highlight=False)
    try:
        find_program()
        settings = QUICK if options.quick else STORM
        console.print(introduction(settings), markup=False)
        results = [run_backend(console, name, options.output, settings) for name in options.backends]
        report(console, results, settings, options.output)
    except (RunFailed, OSError, ValueError) as failure:
        console.print(f"demo: failed: {failure}", style="red", markup=False, soft_wrap=True)  # a path stays one word
        return 1
    except KeyboardInterrupt:
        console.print("demo: interrupted; nothing is left running", style="red")
        return 130
    console.print("demo: done", style="bold green")
    return 0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small storm of 4 minutes, to check that everything works")
    parser.add_argument("--backends", type=names_of, default=BACKENDS, metavar="A,B",
                        help="only these of none,fpp,collective,damaris")
    parser.add_argument("--output", type=Path, default=ROOT / "out" / "cm1", metavar="DIR",
                        help="folder for the runs' folders (default: out/cm1); those of an\nearlier demo are replaced")
    options = parser.parse_args()
    options.output = options.output.resolve()
    return options


def names_of(text):
    names = [name for name in BACKENDS if name in text.split(",")]
    if not names or len(names) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}': choose among {','.join(BACKENDS)}, separated by commas")
    return names


def introduction(s):
    steps = round(s["timax"] / s["dtl"])
    return (f"A storm of {s['timax'] / 60:.0f} min: {s['nx']} x {s['ny']} x {s['nz']} points, {steps} steps, "
            f"{outputs_of(s)} outputs, {COMPUTING_RANKS} computing ranks")


def outputs_of(settings):
    return round(settings["timax"] / settings["tapfrq"]) + 1


def run_backend(console, backend, output, settings):
    folder = output / backend
    shutil.rmtree(folder, ignore_errors=True)
    settings = dict(settings, backend=backend, ppnode=CLIENTS_PER_NODE)
    prepare(folder, settings)
    ranks, nodes = COMPUTING_RANKS, None
    if backend == "damaris":
        ranks, nodes = ranks // CLIENTS_PER_NODE * RANKS_PER_NODE, str(RANKS_PER_NODE)
    started = time.monotonic()
    with Shown(console, backend, round(settings["timax"] / settings["dtl"])) as shown:
        done = launch(folder, ranks, nodes=nodes, limit_s=LIMIT_S, on_line=shown.see)
    (folder / "log.txt").write_text(done.output)
    if done.returncode != 0:
        raise RunFailed(f"{LABELS[backend]} (exit status {done.returncode})\n{tail_of(done.output)}\n"
                        f"whole log: {folder / 'log.txt'}")
    console.print(f"{LABELS[backend]}: done in {time.monotonic() - started:.1f} s")
    return measured(backend, folder, done.output, settings)


def tail_of(text, lines=20):
    """The last lines, each once: all ranks tell the same."""
    return "\n".join(list(dict.fromkeys(text.splitlines()))[-lines:])


class Shown:
    """Progress of one run: a bar on a terminal, else nothing until the run is over."""

    def __init__(self, console, backend, steps):
        self.bar = Progress(TextColumn(f"{LABELS[backend]:17}"), BarColumn(30), TextColumn("{task.completed}/{task.total} steps"),
                            TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)
        self.task = self.bar.add_task("", total=steps)

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *unused):
        self.bar.stop()

    def see(self, line):
        if line.startswith("cm1: step "):
            self.bar.update(self.task, completed=int(line.split()[2]))


def measured(backend, folder, output, settings):
    seconds = [float(word.split("=")[1]) for word in output.split() if word.startswith("time_to_solution_s=")]
    writes = [s for _, _, phase, s in timers(folder) if phase == "write"]
    files = [path for path in folder.glob("*.h5") if path.name != "cm1out.h5" and path.name[0] != "."]  # views show the others
    missing = [n for n in range(1, outputs_of(settings) + 1) if backend != "none" and not files_of(folder, backend, n)]
    if not seconds or missing:
        raise RunFailed(f"{LABELS[backend]} ended without " + (f"output {missing}" if missing else "its summary line")
                        + f"; see {folder / 'log.txt'}")
    return Result(backend, folder, seconds[0], writes, len(files), sum(path.stat().st_size for path in files))


def report(console, results, settings, output):
    written = [result for result in results if result.files]
    console.print()
    console.print(table_of(results))
    for line in caveats():
        console.print(line, style="dim", markup=False)
    console.print()
    if len(written) > 1:
        console.print(compare(written, outputs_of(settings)), markup=False)
    for result in written:
        console.print(f"{LABELS[result.backend]:17} {result.folder}", markup=False, soft_wrap=True)
    if written:
        console.print(f"{'picture':17} {picture_of(written[-1], settings, output)}", markup=False, soft_wrap=True)


def table_of(results):
    table = Table(box=box.SIMPLE_HEAD, title="Write phase: time of one rank in the output calls of one output")
    table.add_column("back end", no_wrap=True)
    for heading in ("time to\nsolution", "write phase\nmedian", "write phase\nworst", "files", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        table.add_row(LABELS[result.backend], f"{result.seconds:.2f} s", *write_cells(result.writes),
                      str(result.files), f"{result.size / 1e6:.1f}")
    return table


def write_cells(writes):
    if not writes:
        return "-", "-"
    return f"{1000 * statistics.median(writes):.1f} ms", f"{1000 * max(writes):.1f} ms"


def caveats():
    cores = len(os.sched_getaffinity(0))
    servers = COMPUTING_RANKS // CLIENTS_PER_NODE
    if cores < COMPUTING_RANKS + servers:
        yield (f"Caution: {COMPUTING_RANKS} ranks (damaris: and {servers} dedicated ones) share {cores} cores here. "
               "Times to solution show that it works, not what it gains.")
    yield "damaris ends when its files are synchronised to disk; the others leave that to the system."


def compare(written, output):
    """The last output of every way must hold the same bits."""
    first, *others = [(result, read_output(result.folder, result.backend, output)) for result in written]
    for result, fields in others:
        for name, array in first[1].items():
            if name not in fields or not same_bits(array, fields[name]):
                raise RunFailed(f"{LABELS[result.backend]} wrote other values of {name} than {LABELS[first[0].backend]}")
    return f"checked: all ways wrote the same {len(first[1])} variables, to the last bit"


def picture_of(result, settings, output):
    from draw_cm1 import NEEDED, draw
    path = output / "storm.png"
    fields = read_output(result.folder, result.backend, outputs_of(settings), NEEDED)
    source = f"the files of {LABELS[result.backend]}"
    draw(fields, path, (settings["dx"] / 1000, settings["dz"] / 1000), settings["timax"] / 60, source)
    return path


if __name__ == "__main__":
    sys.exit(main())
