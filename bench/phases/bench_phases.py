"""How long a simulation waits for its output: file per process, collective, one writer, ADIOS2, dedicated core.

All ways write the same values; README.md beside this file says what is timed. Rows are quotients of the time of a
write phase, which is that of its slowest process.
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from arguments import WAYS, parse_arguments  # noqa: E402
from machine import describe_machine  # noqa: E402
from program import in_rounds, run_benchmark  # noqa: E402
from run_phases import Settings, built_ways, run  # noqa: E402
from summary import rows_of  # noqa: E402
from table import print_report  # noqa: E402

SWEEP_WAYS = ["file-per-process", "damaris"]
SWEEP = [1 / 16, 1 / 4, 1 / 2, 1, 2]  # times --bytes
SWEEP_ROUNDS = 2


def main():
    options = parse_arguments(__doc__)
    return run_benchmark("phases", options.folder, lambda console, folder: report_on(console, folder, options))


def report_on(console, folder, options):
    left_out = choose_ways(options)
    settings = settings_of(options)
    report = dict(machine=describe_machine(), quick=options.quick, settings=dict(vars(settings), storage=[storage.name for storage in options.storage]),
                  left_out=left_out)
    report["details"] = details = measure(console, folder, options, settings)
    if options.sweep:
        report["sweep"] = sweep(console, folder, options, settings)
    report["rows"] = rows_of(details)
    write_results(options, report)
    print_report(console, report)


def choose_ways(options):
    """Without --ways all that are built in. Returns the others."""
    built = built_ways()
    left_out = [] if options.ways else [way for way in WAYS if way not in built]
    options.ways = options.ways or [way for way in WAYS if way in built]
    return left_out


def settings_of(options):
    names = Settings.__dataclass_fields__
    return replace(Settings(**{name: getattr(options, name) for name in names}),
                   fields=str(options.fields.resolve()) if options.fields else None)


def measure(console, folder, options, settings):
    """Rounds of all ways with each storage, in an order drawn anew; the first round is not counted."""
    things = [(storage, way) for storage in options.storage for way in options.ways]
    found = {(storage, way): dict(way=way, storage=storage.name, runs=[]) for storage, way in things}
    rounds = options.repeats + (0 if options.quick else 1)
    for number, (storage, way) in in_rounds(console, "runs", things, rounds):
        times, left, cpu = run(way, storage, settings, folder / "place")
        if number >= rounds - options.repeats:
            detail = found[storage, way]
            detail["runs"].append(times)
            detail.update(left)
            detail.setdefault("cpu", cpu)
    return list(found.values())


def sweep(console, folder, options, settings):
    factors = [SWEEP[0], SWEEP[-1]] if options.quick else SWEEP
    points = [(max(1, int(settings.bytes * factor)), way) for factor in factors for way in SWEEP_WAYS]
    found = {point: [] for point in points}
    for _, point in in_rounds(console, "sizes", points, 1 if options.quick else SWEEP_ROUNDS):
        found[point].append(run(point[1], options.storage[0], replace(settings, bytes=point[0]), folder / "place")[0])
    return [dict(bytes_per_process=point[0], way=point[1], runs=runs) for point, runs in found.items()]


def write_results(options, report):
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + os.linesep)
    if options.page:
        from pictures import draw_page  # matplotlib takes a second
        draw_page(report, options.page)


if __name__ == "__main__":
    sys.exit(main())
