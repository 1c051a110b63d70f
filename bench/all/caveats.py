"""What to keep in mind when the figures of a campaign are read: sentences, each only where it is so.

Used by: the page and the documents. Before it: results. After it: sentences.
"""

from statistics import median

from facts import machine_of
from results import again_text
from runs import few_text
from when_it_pays import chosen_text

CIRCLE_BYTES = 256 << 20  # of bench/write/configuration.cpp
APART = 1.5  # times: two sizes of one cache differ
WHOLE = {"file-per-process": "file per process", "collective": "collective", "damaris": "damaris"}  # ways whose whole runs are told


def caveats_of(results):
    """Sentences, those of this campaign first."""
    yield from machine_caveats(results)
    yield from part_caveats(results)
    yield ("The storage is a local file system, unless a row names another: what is written ends in the page cache at the speed of a copy, "
           "and nobody's bytes are on a disk when a write phase ends. Only what is called durable waits for the disk. So cm1 slows all ways "
           "down to one rate.")
    yield ("On a virtual machine cores are taken away for moments that nothing inside can see: a p99 of a few hundred writes holds them. "
           "Two cores may be two threads of one.")
    yield "'Not surely': the worse end of the interval does not reach what the figure does."
    yield interval_text(results)


def machine_caveats(results):
    machine, cores = machine_of(results), machine_of(results).get("cores", 0)
    loud = [name for name, result in results.items() if result.report and result.record.get("others_cores", 0) > 0.1 * max(1, cores)]
    if loud:
        yield f"Others used this machine during {', '.join(loud)}: there times and p99 hold their turns, ratios and the best say more."
    if cores and cores <= 2:
        yield (f"{cores} cores: no row of several clients that write at a time, as each needs a core of its own beside the server's; "
               "a dedicated core is half of the machine.")
    cache = machine.get("last_level_cache_bytes", 0)
    if cache >= CIRCLE_BYTES:
        yield (f"The last-level cache, {cache / 2**20:.0f} MiB as the system tells it, holds what write goes through in a circle "
               f"({CIRCLE_BYTES / 2**20:.0f} MiB): source and target that should be cold may be in it.")
    libc = machine.get("cache_of_libc_bytes", 0)
    if min(cache, libc) > 0 and max(cache, libc) > APART * min(cache, libc):
        yield (f"The C library takes the cache for {libc / 2**20:.0f} MiB, and its memcpy goes past the caches only beyond 0.75 of that: "
               "part of our gain is over a memcpy that goes by another size.")


def part_caveats(results):
    for name, result in results.items():
        if again_text(result):
            yield f"{name} was {again_text(result)}."
    if over(results):
        yield (f"phases-shared runs {over(results)} ranks on {machine_of(results).get('cores')} cores: a rank may lose its core inside its "
               "copy, so its slowest ranks tell of the scheduler. In phases each rank has a core of its own.")
    if results["reduce"].report and results["reduce"].record.get("fields") is False:
        yield "reduce had the small slice of CM1's fields that comes with the program: its chunks of 5.8 KB are too small for figures."
    for name in ("phases", "phases-shared"):
        yield from phases_caveats(name, results[name].report)
    slow = [name for name in ("cm1", "cm1-parts") if chosen_text(results[name])]
    if slow:
        yield f"The storage of {' and '.join(slow)} is slow on purpose: {chosen_text(results[slow[0]])}."


def phases_caveats(name, report):
    """What its quotients of write phases do not tell."""
    details = [detail for detail in report["details"] if "storage" in detail and "way" in detail] if report else []
    if not details:
        return
    storages = list(dict.fromkeys(detail["storage"] for detail in details))
    rates = [storage for storage in storages if storage not in ("cache", "disk")]
    if rates:
        yield (f"A factor of {name} at a storage of {', '.join(rates)} is proportional to one over that rate: it says what a node gains whose "
               "share of a file system is as large. bench/phases/README.md, Storage, has the limit.")
    yield from whole_runs(name, report["settings"], storages, details)


def whole_runs(name, settings, storages, details):
    """A write phase leaves out what the dedicated core costs; a whole run does not."""
    texts = []
    for storage in storages:
        seconds = {detail["way"]: median(run["wall_s"] for run in detail["runs"]) for detail in details if detail["storage"] == storage}
        told = [f"{text} {seconds[way]:.3g} s" for way, text in WHOLE.items() if way in seconds]
        texts.append(f"storage {storage}: {', '.join(told)}")
    yield (f"Whole runs of {name}, {'; '.join(texts)}. The work is the same in sum; the dedicated core, {settings['writers']} of "
           f"{settings['ranks']} ranks, is charged.")


def over(results):
    """Ranks of phases-shared, if they are more than the cores."""
    report = results["phases-shared"].report
    ranks = report.get("settings", {}).get("ranks", 0) if report else 0
    return ranks if ranks > machine_of(results).get("cores", 0) else 0


def interval_text(results):
    few = few_text(results)
    return ("Figures are medians, but for p99 rows, the worst write of slots, dc_write >= 1 MiB (the worst of the sizes) and the best other way "
            "of cm1 (the worst of the points from the break-even on). The interval holds the median with 95 % (1000 resamplings of samples, or of "
            "whole runs)"
            f"{f', but for {few}' if few else ''}. That of a row of p99 / p50 is of parts of the run.")
