"""How exact a replay is: when the I/O of a thousand processes begins, and what a program takes that is replayed where it ran.

The program is a few processes that compute, meet, and write and sync in phases; it notes its own times, and its plan is made of them.
README.md beside this file says what is measured.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, positive, run_benchmark  # noqa: E402
from rows import row  # noqa: E402
from run_cm1 import RunFailed  # noqa: E402

BYTES = 1 << 20


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


def one_process(number, steps, barrier, path, results):
    """A process of the program: (what, begin, end) of each of its calls, in ns."""
    block, notes, now = random.Random(number).randbytes(BYTES), [], time.perf_counter_ns

    def noted(what, call):
        begin = now()
        result = call()
        notes.append((what, begin, now()))
        return result

    barrier.wait()
    file = noted("o", lambda: os.open(path, os.O_CREAT | os.O_RDWR))
    for step in range(steps):
        until = now() + 20_000_000 + number * 1_000_000
        while now() < until:
            pass
        noted("b", barrier.wait)
        noted(f"w {step * BYTES}", lambda at=step * BYTES: os.pwrite(file, block, at))
        if step % 10 == 9:
            noted("s", lambda: os.fsync(file))
    noted("x", lambda: os.close(file))
    results.put((number, notes))


def run_program(folder, processes, steps):
    """Its calls by process, from one real run."""
    fork = get_context("fork")
    barrier, results = fork.Barrier(processes), fork.SimpleQueue()
    children = [fork.Process(target=one_process, args=(i, steps, barrier, folder / f"{i}", results)) for i in range(processes)]
    for child in children:
        child.start()
    notes = dict(results.get() for _ in children)
    for child in children:
        child.join()
    for i in range(processes):
        (folder / f"{i}").unlink()
    return notes


def plan_of(notes):
    """What `damaris plan` makes of a recording: gaps, calls, and of a meeting its own cost, behind the latest arrival."""
    start = min(calls[0][1] for calls in notes.values())
    meetings = {i: [call for call in calls if call[0] == "b"] for i, calls in notes.items()}
    latest = [max(calls[1] for calls in together) for together in zip(*meetings.values(), strict=True)]
    lines = ["damaris plan 1", f"recorded {max(calls[-1][2] for calls in notes.values()) - start}", *(f"file {i} 0 {i}" for i in notes)]
    for i, calls in sorted(notes.items()):
        lines.append(f"process {i}")
        met, before = 0, start
        for what, begin, end in calls:
            lines.append(f"c {begin - before}")
            if what == "b":
                lines.append(f"b {met} {max(0, end - latest[met])}")
                met += 1
            elif what.startswith("w"):
                lines.append(f"w {i} {what[2:]} {BYTES} # {end - begin}")
            else:
                lines.append(f"{what} {i}{' rwc' if what == 'o' else ''} # {end - begin}")
            before = end
    return "\n".join(lines) + "\n"


def middle(values):
    return statistics.median(values), min(values), max(values)


def measure(folder, options):
    (folder / "on").mkdir()
    many_processes(folder / "many", options.processes)
    thousand, busy = replay(folder / "many", "--on", folder / "on")
    took = sum(thousand["totals_seconds"])
    cores = len(os.sched_getaffinity(0))
    processes = min(3, cores)
    evaluated, errors, times = [], [], []
    for _ in range(options.repeats):
        notes = run_program(folder, processes, options.steps)
        (folder / "phases").write_text(plan_of(notes))
        virtual, _ = replay(folder / "phases", "--evaluate")
        report, _ = replay(folder / "phases", "--on", folder / "on", "--repeat", options.repeats)
        times.append(virtual["recorded_seconds"])
        evaluated.append(100 * abs(virtual["evaluated_seconds"] / virtual["recorded_seconds"] - 1))
        errors.append(100 * abs(report["total"]["error"]))
    operations = many_operations(folder / "operations", options.operations)
    _, seconds = replay(folder / "operations", "--evaluate")
    late = thousand["start_error_seconds"]
    rows = [row(f"{options.processes} processes: start-time error p99, ms", [1e3 * late["p99"]] * 3, "lower", 10, 3),
            row("evaluated off the recorded time, %", middle(evaluated), "lower", 0.5, 0.2),
            row("replayed off the recorded time, %", middle(errors), "lower", 10, 3),
            row("evaluator: million operations a CPU second", [operations / seconds / 1e6] * 3, "higher", 1, 3)]  # fmt: skip
    table = dict(text=f"A program of {processes} processes and {options.steps} phases: {options.repeats} runs, each replayed {options.repeats} times.",
                 heads=["run", "recorded s", "evaluated off %", "replayed off % (median)"],
                 lines=[[f"{i + 1}", f"{times[i]:.3f}", f"{evaluated[i]:.3f}", f"{errors[i]:.2f}"] for i in range(options.repeats)])  # fmt: skip
    notes = [f"The replay of {options.processes} processes needed {100 * busy / took / cores:.0f} % of the machine. I/O began p50 {1e3 * late['p50']:.3f}, "
             f"at most {1e3 * late['most']:.3f} ms behind its time.",
             f"The program's own spread: {100 * (max(times) / min(times) - 1):.2f} % from the fastest to the slowest run."]  # fmt: skip
    return dict(settings=dict(processes=options.processes, repeats=options.repeats, steps=options.steps), rows=rows, table=table, notes=notes,
                details=dict(start_error=late, recorded=times, evaluated=evaluated, errors=errors))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
