"""./dev torture: runs with a fault at a random moment; each must keep every promise that check.py lists.

The seed of a run says all of it but the moment at which the processes happen to be: run K of a campaign has the seed S + K, so a
failure is drawn again by `--seed` of that run and `--runs 1`.
"""

import argparse
import concurrent.futures
import itertools
import multiprocessing
import os
import random
import sys
import time
from collections import Counter

from faults import FAULTS
from processes import begin_worker

MODES = ("detached", "in-place", "mpi")


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev torture", description="Runs small jobs with a fault at a random moment, and checks that "
                                     "nothing is lost and nothing hangs.", epilog="Exit status: 0 nothing lost and nothing hung, 1 otherwise, "
                                     "2 wrong usage. Last line: R runs, F faults, D datasets, L lost, H hung.")
    parser.add_argument("--seed", default="random", metavar="S", help="seed of the first run; the next runs have the next seeds (default: random, printed)")
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="number of runs (default: 200)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="J", help="runs at a time (default: one per core)")
    parser.add_argument("--only", action="append", metavar="KIND", choices=sorted(FAULTS), help="only faults of this kind; can be repeated: "
                        + ", ".join(FAULTS))
    parser.add_argument("--mode", action="append", metavar="MODE", choices=MODES, help="only runs of this mode, of the seeds from S on; can be "
                        "repeated: " + ", ".join(MODES))
    parser.add_argument("--keep", action="store_true", help="keep the folder of every run, not only of failed ones")
    options = parser.parse_args(words)
    try:
        options.seed = random.SystemRandom().randrange(10**9) * 1000 if options.seed == "random" else int(options.seed)
    except ValueError:
        parser.error(f"--seed: '{options.seed}' is neither a whole number nor 'random'")
    if options.runs < 1 or options.jobs < 1:
        parser.error("--runs and --jobs must be at least 1")
    return options


def check_mode(options, kinds):
    """Else one that none of the kinds has would be looked for among all seeds."""
    modes = {mode for kind in kinds for mode in FAULTS[kind].modes} - ({"mpi"} if os.environ["DAMARIS_MPI_FLAVOUR"] == "OFF" else set())
    if options.mode and not modes & set(options.mode):
        sys.exit(f"torture: --mode {options.mode[0]}: no run of these faults has it here; there are {', '.join(sorted(modes))}")


def run_or_leave(*arguments):
    """A run in a worker. One that gets SIGTERM has cleaned up; the pool would take that for a result, and wait for more work."""
    from runner import run_one  # not for --help, which needs neither HDF5 nor anything built

    try:
        return run_one(*arguments)
    except SystemExit as end:
        os._exit(end.code)


def seeds(options, kinds):
    """As many as there are runs."""
    from runner import draw_run

    fitting = (seed for seed in itertools.count(options.seed) if not options.mode or draw_run(seed, kinds).mode in options.mode)
    return itertools.islice(fitting, options.runs)


def campaign(options):
    """The results, as they come."""
    kinds, build = options.only or list(FAULTS), os.environ["DAMARIS_BUILD_DIR"]
    check_mode(options, kinds)
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=fork, initializer=begin_worker) as pool:
        waiting = [pool.submit(run_or_leave, seed, kinds, build, options.keep) for seed in seeds(options, kinds)]
        for done in concurrent.futures.as_completed(waiting):
            yield done.result()


def tell(result, options):
    only = "".join(f" --only '{kind}'" for kind in options.only or [])  # which the draw depends on
    kinds = result.kind + (f", then {result.second}" if result.second_made else "")
    print(f"\nFAILED: seed {result.seed} ({result.mode}, {kinds}), {result.seconds:.1f} s, kept in {result.folder}")
    print(f"  again: ./dev torture --seed {result.seed} --runs 1{only}")
    for sentence in result.lost[:20]:
        print(f"  lost: {sentence}")
    for sentence in result.hung[:5]:
        print(f"  hung: {sentence}")


def table(results):
    made, elsewhere, failed = Counter(), Counter(), Counter()
    second = Counter(result.second for result in results if result.second_made)
    for result in results:
        made[result.kind] += result.outcome in ("made", "none")
        elsewhere[result.kind, result.outcome] += 1
        failed[result.kind] += bool(result.lost or result.hung)
    print(f"\n{'fault':<24}{'made':>6}{'as second':>11}{'not reached':>13}{'not possible':>14}{'failed':>8}")
    for kind in FAULTS:
        if made[kind] or second[kind] or elsewhere[kind, "not reached"] or elsewhere[kind, "not possible here"]:
            print(f"{kind:<24}{made[kind]:>6}{second[kind]:>11}{elsewhere[kind, 'not reached']:>13}"
                  f"{elsewhere[kind, 'not possible here']:>14}{failed[kind]:>8}")


def faults_of(results):
    return sum((r.outcome == "made") + r.second_made for r in results)


def main():
    options = parse(sys.argv[1:])
    print(f"seed {options.seed}, {options.runs} runs, {options.jobs} at a time", flush=True)
    results, begun, shown = [], time.monotonic(), time.monotonic()
    for result in campaign(options):
        results.append(result)
        if result.lost or result.hung:
            tell(result, options)
        now = time.monotonic()
        if now - shown > (1 if sys.stdout.isatty() else 15):
            shown = now
            faults = faults_of(results)
            print(f"{now - begun:.0f} s: {len(results)} of {options.runs} runs, {faults} faults", flush=True)
    table(results)
    slowest = max(results, key=lambda r: r.seconds)
    print(f"\n{time.monotonic() - begun:.0f} s; a run took {sum(r.seconds for r in results) / len(results):.2f} s, the longest "
          f"{slowest.seconds:.1f} s (seed {slowest.seed}, {slowest.kind})")
    print(f"back-pressure: {sum(r.left_out for r in results)} writes left out and reported, {sum(r.reduced_steps for r in results)} steps reduced "
          f"harder, {sum(r.spilled_bytes for r in results) >> 10} KiB spilled")
    print(f"{sum(r.reads for r in results)} arrays read, {sum(r.appends for r in results)} appends to logs")
    lost, hung = sum(len(r.lost) for r in results), sum(len(r.hung) for r in results)
    faults = faults_of(results)
    print(f"{len(results)} runs, {faults} faults, {sum(r.datasets for r in results)} datasets, {lost} lost, {hung} hung")
    return 1 if lost or hung else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
