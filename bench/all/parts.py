"""The parts of bench all: what each runs, with which arguments, and about how long it takes.

Used by: all of bench all; a new part is a line here, a chapter in chapters.py, and a line in budgets.py if it has a budget.
Before it: options. After it: command lines.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN_CORES = ("--ranks", "2", "--writers", "1", "--groups", "1")  # one that computes, one dedicated
FEW_WAYS = ("--ways", "file-per-process,collective,adios2,adios2-async,damaris")
STORAGES = ("--storage", "cache,disk,100MB")


@dataclass(frozen=True)
class Part:
    name: str  # of its files, and for --only
    program: str  # a verb of damaris-bench, or a script below bench/
    seconds: int  # about, on 2 cores
    quick_seconds: int  # with --quick
    arguments: tuple = ()  # --quick of the part itself overrides what they say about amounts
    takes: tuple = ("folder",)  # options of bench all that go on to it


# Short ones first: an interrupted campaign has most of the rows. The amounts keep the whole below 40 minutes.
PARTS = (
    Part("write", "write", 90, 2),
    Part("queue", "queue", 20, 1, takes=()),
    Part("persist", "persist", 60, 1),
    Part("reduce", "reduce", 60, 2, takes=("folder", "fields")),
    Part("slots", "slots", 170, 3),
    Part("phases", "phases/bench_phases.py", 600, 20, (*OWN_CORES, *FEW_WAYS, *STORAGES, "--repeats", "3")),
    Part("phases-shared", "phases/bench_phases.py", 420, 10, ("--repeats", "2", "--sweep")),
    Part("cm1", "cm1/bench_cm1.py", 300, 5, ("--works", "1,2,6", "--repeats", "2")),
    Part("cm1-parts", "cm1/bench_cm1.py", 300, 15, ("--cores", "4", "--works", "1,2,6", "--repeats", "2")),
    Part("compression", "cm1/bench_compression.py", 330, 5, ("--pairs", "15")),
)
NAMES = [part.name for part in PARTS]


def command_line(part, json, quick=False, **options):
    """json: the file it writes. options: folder and fields, None where they are not given."""
    words = list(part.arguments)
    for name in part.takes:
        if options.get(name):
            words += [f"--{name}", options[name]]
    words += ["--json", json, *(["--quick"] if quick else [])]
    return [str(word) for word in [*program_of(part), *words]]


def program_of(part):
    if part.program.endswith(".py"):
        return [sys.executable, "-B", ROOT / "bench" / part.program]
    return [Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build" / "dev")) / "bin" / "damaris-bench", part.program]


def seconds_of(part, quick):
    return part.quick_seconds if quick else part.seconds


def told(part):
    """The command as a reader would give it by itself."""
    name = part.name.partition("-")[0]
    return " ".join(["./dev bench", name, *part.arguments])
