"""One file of several servers against a file of each: how long a step takes with the same reductions, until it is durable.

Each server has a node and a client of its own, which writes a cube of reals; a step ends when all clients have flushed it. Rows are
quotients of the medians of both kinds of file.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from rows import pooled, quotient, row  # noqa: E402
from run_cm1 import RunFailed  # noqa: E402

REDUCTIONS = ("deflate", "float16,zstd:1", "none")
KINDS = ("per-server", "single")
GOOD, AIM = 1.5, 1.1
XML = """<simulation name="shared">
  <architecture><dedicated cores="1"/><buffer size="{buffer}MiB"/></architecture>
  <data>
    <layout name="cube" type="real32" dimensions="{edge},{edge},{edge}" global="{edge},{edge},{whole}"/>
    <variable name="field" layout="cube"/>
  </data>
  <storage><hdf5 basename="out/run" files="{kind}" reduce="{reduction}"/></storage>
</simulation>
"""
EXAMPLES = """
examples:
  ./dev bench shared
  ./dev bench shared --servers 8 --edge 64 --reductions deflate --json shared.json --folder /scratch
"""


def main():
    options = parse_arguments()
    return run_benchmark("shared", options, lambda console, folder: measure(console, folder / "place", options))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench shared", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--servers", type=positive, default=4, metavar="N", help="servers, each with one client (4)")
    add("--edge", type=positive, default=128, metavar="N", help="each client writes N^3 reals of 32 bits (128: 8 MiB)")
    add("--steps", type=positive, default=8, metavar="N", help="steps of a run, after a first one that warms up (8)")
    add("--reductions", type=lambda text: text.split(";"), default=list(REDUCTIONS), metavar="A;B",
        help="separated by semicolons (deflate;float16,zstd:1;none)")
    add("--repeats", type=positive, default=5, metavar="N", help="rounds (5)")
    add_places(parser, "one small round")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(edge=16, steps=2, repeats=1)
    return options


def measure(console, place, options):
    ways = [(reduction, kind) for reduction in options.reductions for kind in KINDS]
    details = {way: [] for way in ways}
    sizes = {}
    for _, way in in_rounds(console, "runs", ways, options.repeats):
        times, sizes[way] = run(place, *way, options)
        details[way].append(times)
    rows = [row(f"time of a step, {reduction}: single / per-server, {options.servers} servers",
                quotient(details[reduction, "single"], details[reduction, "per-server"]), "lower", GOOD, AIM)
            for reduction in options.reductions]
    lines = [[reduction, kind, *(f"{1e3 * pooled(details[reduction, kind], q):.3g}" for q in (0.5, 0.95)), f"{sizes[reduction, kind] / 1e6:.1f}"]
             for reduction, kind in ways]
    text = f"{options.servers} servers with a client each, {4e-6 * options.edge ** 3 * options.servers:.0f} MB a step, {options.repeats} runs"
    return dict(rows=rows, table=dict(text=text, heads=["reduction", "files", "ms, p50", "p95", "MB stored"], lines=lines), notes=[],
                details=[dict(reduction=reduction, kind=kind, steps_s=details[reduction, kind]) for reduction, kind in ways])


def run(place, reduction, kind, options):
    """The times of the steps after the first one, and the bytes of the files of one step."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "out").mkdir(parents=True)
    edge, servers = options.edge, options.servers
    buffer = max(4 * edge ** 3 * 6 >> 20, 4)
    (place / "run.xml").write_text(XML.format(buffer=buffer, edge=edge, whole=edge * servers, kind=kind, reduction=reduction))
    program = Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build" / "dev")) / "bench" / "damaris_bench_fields"
    command = [ROOT / "scripts" / "mpi-run", os.environ.get("DAMARIS_MPI_FLAVOUR", "openmpi"), "-n", str(2 * servers), program, "run.xml",
               str(options.steps + 1), str(edge)]
    done = subprocess.run([str(word) for word in command], cwd=place, capture_output=True, text=True,
                          env=dict(os.environ, DAMARIS_RANKS_PER_NODE="2"))
    try:
        if done.returncode != 0:
            raise RunFailed(f"the run with files={kind} and reduce={reduction} failed:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
        times = [float(line.split()[-1]) for line in done.stdout.split("\n") if line.strip()]
        files = list((place / "out").glob("run.*i1.h5")) + list((place / "out").glob("run.i1.h5"))
        return times[1:], sum(file.stat().st_size for file in set(files))
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
