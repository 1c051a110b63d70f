"""What a recording costs: processor time added to a call and to LAMMPS, bytes stored for a call, and the speed of unify.

Each figure is of pairs with and without the recorder, one after the other; where dftracer is installed, it runs in the same pairs.
README.md beside this file says what is measured.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build/dev"))
PACKAGE = str(BUILD / "lib/damaris/python")
sys.path[1:1] = [*(str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")), PACKAGE]

import bench_log  # noqa: E402
from help_text import HelpText  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from rows import row  # noqa: E402
from run_cm1 import RunFailed, command_line, prepare  # noqa: E402

CALLS = {"read": "pread of 1 byte", "write": "pwrite of 4 bytes", "stdio": "fwrite of 8 bytes", "message": "Irecv + Send + Wait",
         "block": "pwrite of 4 KiB to memory"}
ADDED = {"read": (120, 100), "write": (120, 100), "stdio": (120, 100), "message": (400, 350)}
TRACERS = ("none", "damaris", "dftracer")
MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
dump one all atom 10 dump.atom
restart 50 restart.*
run {steps}
"""
STORM = dict(nx=30, ny=26, nz=20, dtl=6.0, timax=240.0, tapfrq=60.0, statfrq=60.0, zd=8000.0, backend="damaris")
EXAMPLES = """
examples:
  ./dev bench record
  ./dev bench record --repeats 21 --json record.json
  ./dev bench record --log --repeats 3
"""


def main():
    parser = argparse.ArgumentParser(prog="./dev bench record", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--repeats", type=positive, default=11, metavar="N", help="pairs (11)")
    add("--calls", type=positive, default=300_000, metavar="N", help="calls of a kind in a run (300000)")
    add("--slots", type=positive, default=10_000_000, metavar="N", help="calls in the recording that is unified (10000000)")
    add("--log", action="store_true", help="instead: recordings of 8 to 128 processes, with a file for each and through the server")
    add_places(parser, "two pairs of few calls")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(repeats=2, calls=2000, slots=100_000)
    if options.log:
        return run_benchmark("record", options, lambda console, folder: bench_log.report(run, folder, options, lambda *rounds: in_rounds(console, "runs", *rounds)))
    return run_benchmark("record", options, lambda console, folder: measure(console, folder, options))


def dftracer():
    """Its library to preload; None: it is not installed."""
    found = importlib.util.find_spec("dftracer")
    library = Path(found.submodule_search_locations[0]) / "lib64/libdftracer_preload.so" if found else None
    return library if library and library.exists() and " " not in str(library) else None  # blanks divide the names in LD_PRELOAD


def traced(tracer, place):
    """Words before a program, and its environment."""
    if tracer == "damaris":
        return ["damaris", "record", "-o", place / "run", "--force"], dict(os.environ)
    if tracer == "dftracer":
        return [], dict(os.environ, LD_PRELOAD=str(dftracer()), DFTRACER_ENABLE="1", DFTRACER_INIT="PRELOAD", DFTRACER_DATA_DIR="all",
                        DFTRACER_LOG_FILE=str(place / "dftracer"))  # fmt: skip
    return [], dict(os.environ)


def run(words, place, environment=None):
    """What it printed, and its processor seconds with all of its children."""
    with (place / "printed").open("wb") as printed:
        child = subprocess.Popen([str(word) for word in words], cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=printed,
                                 stderr=subprocess.STDOUT)  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    text = (place / "printed").read_text(errors="replace")
    if child.returncode != 0:
        raise RunFailed(f"{' '.join(map(str, words))} ended with {child.returncode}: {text[-500:]}")
    return text, used.ru_utime + used.ru_stime


def in_memory(words, place):
    """With a tmpfs that only this program sees, at place/memory."""
    return ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', place / "memory", *words]


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def one_call(kind, tracer, place, options):
    before, environment = traced(tracer, place)
    program = BUILD / "bench" / ("damaris_bench_messages" if kind == "message" else "damaris_bench_calls")
    (place / "memory").mkdir(exist_ok=True)
    file = place / ("memory/file" if kind == "block" else "file")
    words = [*before, program, kind, options.calls, file]
    return float(run(in_memory(words, place) if kind == "block" and can_mount() else words, place, environment)[0])


def lammps(tracer, place, options):
    before, environment = traced(tracer, place)
    (place / "in.melt").write_text(MELT.format(steps=50 if options.quick else 1000))
    launcher = [ROOT / "scripts/mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-n", min(3, os.cpu_count())]
    return run([*launcher, *before, "lmp", "-in", "in.melt"], place, environment)[1]


def stored(place):
    """Bytes of the store for a call of the recording there."""
    run(["damaris", "unify", place / "run"], place)
    import damaris

    calls = damaris.open(place / "run").query("select count(*) from calls").fetchall()[0][0]
    return sum(file.stat().st_size for file in (place / "run/store").rglob("*.parquet")) / calls


def unify(place, options):
    """The rows of bench_unify.py."""
    words = [sys.executable, Path(__file__).with_name("bench_unify.py"), "--slots", options.slots]
    found = json.loads(run(words, place, dict(os.environ, TMPDIR=str(place), PYTHONPATH=PACKAGE))[0])
    return [row("unify: million slots a CPU second", [found["million_slots_a_cpu_second"]] * 3, "higher", 1.5, 2.5),
            row("unify: peak memory a call, bytes", [found["peak_bytes_a_call"]] * 3, "lower", 250, 200)]  # fmt: skip


def measure(console, place, options):
    kinds = [kind for kind in CALLS if kind != "message" or (BUILD / "bench/damaris_bench_messages").exists()]
    has_lammps = os.environ["DAMARIS_MPI_FLAVOUR"] == "openmpi" and shutil.which("lmp")
    things = [*kinds, *(["lammps"] if has_lammps else [])]
    tracers = [name for name in TRACERS if name != "dftracer" or dftracer()]
    found = {thing: {tracer: [] for tracer in tracers} for thing in things}
    for _, thing in in_rounds(console, "pairs", things, options.repeats):
        for tracer in tracers:
            if (thing, tracer) not in (("message", "dftracer"), ("lammps", "dftracer")):
                found[thing][tracer].append(lammps(tracer, place, options) if thing == "lammps" else one_call(thing, tracer, place, options))
    rows, notes = rows_of(found), []
    if has_lammps:
        lammps("damaris", place, options)
        rows.append(row("bytes stored for a call of LAMMPS", [stored(place)] * 3, "lower", 10, 7))
    if "CM1_PROGRAM" in os.environ:
        before, environment = traced("damaris", place)
        prepare(place, STORM)
        run(command_line(3, before=before), place, environment)
        rows.append(row("bytes stored for a call of the mini-app", [stored(place)] * 3, "lower", 10, 7))
    rows += unify(place, options)
    notes += [] if dftracer() else ["dftracer is not installed, so nothing is compared with it."]
    notes += [] if can_mount() else ["Only root can make a file system in memory: the blocks of 4 KiB went to the folder."]
    table = dict(text=f"Processor time of a call in ns, of LAMMPS in s; medians of {options.repeats} runs.", heads=["", *tracers],
                 lines=[[CALLS.get(thing, thing), *(f"{np.median(found[thing][one]):.4g}" if found[thing][one] else "" for one in tracers)]
                        for thing in things])  # fmt: skip
    return dict(settings=dict(repeats=options.repeats, calls=options.calls, slots=options.slots), details=found, rows=rows, table=table, notes=notes)


def middle(values):
    """The median, and where the medians of resampled values are."""
    medians = np.median(np.random.default_rng(7).choice(values, (1000, len(values))), axis=1)
    return np.median(values), *np.quantile(medians, (0.025, 0.975))


def rows_of(found):
    def added(kind):
        return middle(np.subtract(found[kind]["damaris"], found[kind]["none"]))

    def ratio(kind, base):
        return middle(np.divide(found[kind]["damaris"], found[kind][base]))

    rows = [row(f"ns added to {CALLS[kind]}", added(kind), "lower", *budget) for kind, budget in ADDED.items() if kind in found]
    if "lammps" in found:
        rows.append(row("LAMMPS, recorded / not", ratio("lammps", "none"), "lower", 1.02, 1.01))
    rows.append(row("4 KiB writes, recorded / not", ratio("block", "none"), "lower", 1.10, 1.05))
    for kind in ("read", "write", "stdio", "block"):
        if found[kind].get("dftracer"):
            rows.append(row(f"{CALLS[kind]}, damaris / dftracer", ratio(kind, "dftracer"), "lower", 1, 0.5))
    return rows


if __name__ == "__main__":
    sys.exit(main())
