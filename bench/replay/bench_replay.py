"""How exact a replay is: when the I/O of a thousand processes begins, and what programs take that run after a replay has predicted it.

README.md beside this file says what is measured.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, positive, run_benchmark  # noqa: E402
from rows import row  # noqa: E402
from predictions import Predictions  # noqa: E402
from run_cm1 import RunFailed  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="./dev bench replay", description=__doc__, formatter_class=HelpText)
    add = parser.add_argument
    add("--processes", type=positive, default=1000, metavar="N", help="threads of the first replay (1000)")
    add("--repeats", type=positive, default=5, metavar="N", help="replays of a plan, and runs of the program (5)")
    add("--steps", type=positive, default=60, metavar="N", help="phases of the program (60)")
    add("--operations", type=positive, default=10_000_000, metavar="N", help="of the plan that is evaluated (10000000)")
    add_places(parser, "short plans")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(processes=50, repeats=2, steps=3, operations=100_000)
    return run_benchmark("replay", options, lambda console, folder: measure(folder, options))


def replay(*words):
    """What it prints as JSON, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["damaris", "replay", *map(str, words), "--json", "-"], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RunFailed(f"damaris replay ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many_processes(path, count, steps=20, gap=200_000_000):
    """Each writes 4 KiB every `gap` ns or so, and every fifth time waits for its neighbour."""
    draw = random.Random(1)
    lines = ["damaris plan 1", "file 0 0 data"]
    for process in range(count):
        lines += [f"process {process}"]
        for step in range(steps):
            lines += [f"c {draw.randrange(gap // 2, 3 * gap // 2)}"]
            if step % 5 == 4:
                lines += [f"p {step * count + process} 1000", f"g {step * count + (process - 1) % count} 1000"]
            lines += [f"w 0 {(process * steps + step) * 4096} 4096 # 10000"]
    path.write_text("\n".join(lines) + "\n")


def many_operations(path, count, processes=1000):
    rounds = max(1, count // (5 * processes))
    with path.open("w") as plan:
        plan.write("damaris plan 1\nfile 0 0 data\n")
        for process in range(processes):
            plan.write(f"process {process}\n")
            for i in range(rounds):
                number, before = process * rounds + i, (process - 1) % processes * rounds + i
                plan.write(f"c {1000 + number % 977}\nw 0 {number * 4096} 4096 # 5000\np {number} 30\ng {before} 30\nb {i} 200\n")
    return 5 * rounds * processes


def measure(folder, options):
    os.environ["DAMARIS_PYTHON"] = sys.executable
    (folder / "on").mkdir()
    many_processes(folder / "many", options.processes)
    thousand, busy = replay(folder / "many", "--on", folder / "on")
    took = sum(thousand["totals_seconds"])
    cores = len(os.sched_getaffinity(0))
    operations = many_operations(folder / "operations", options.operations)
    _, seconds = replay(folder / "operations", "--evaluate")
    late = thousand["start_error_seconds"]
    found = Predictions(folder, options)
    found.measure()
    rows = [row(f"{options.processes} processes: start-time error p99, ms", [1e3 * late["p99"]] * 3, "lower", 10, 3),
            row("evaluator: million operations a CPU second", [operations / seconds / 1e6] * 3, "higher", 1, 3), *found.rows]  # fmt: skip
    table = dict(text=f"Predictions, each written to a file before the program ran, and medians of {options.repeats} runs of it.",
                 heads=["prediction", "predicted s", "real s", "off %", "own spread %"], lines=found.lines)  # fmt: skip
    notes = [f"The replay of {options.processes} processes needed {100 * busy / took / cores:.0f} % of the machine. I/O began p50 {1e3 * late['p50']:.3f}, "
             f"at most {1e3 * late['most']:.3f} ms behind its time.", *found.notes]  # fmt: skip
    return dict(settings=dict(processes=options.processes, repeats=options.repeats, steps=options.steps), rows=rows, table=table, notes=notes,
                details=dict(start_error=late, predictions=found.made))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
