"""Faults of the disk, made by test/support/faulty_disk.c under the run's processes: calls that fail, short writes, a slow disk, one that
hangs, death before or after any call. Kinds like those of faults.py, which has them in its table."""

import os
from pathlib import Path

ERRORS = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "ENOENT", "ESTALE")
CALLS = ("open", "write", "fsync", "truncate", "reserve", "rename", "unlink", "close")
LIBRARY = "test/lib/damaris_test_faulty_disk.so"


def preload(runner, _fault):
    link = runner.folder / "disk.so"  # LD_PRELOAD takes no path with a space
    if not link.exists():
        link.symlink_to(runner.build / LIBRARY)
    return {"LD_PRELOAD": str(link), "DAMARIS_FAULT_UNDER": str(runner.out),
            "DAMARIS_FAULT_RULES": str(runner.folder / "rules")}


def is_built():
    return (Path(os.environ["DAMARIS_BUILD_DIR"]) / LIBRARY).exists()


def cannot_preload(_fault):
    return "" if is_built() else "the faulty disk is not built"


def set_rule(runner, fault):
    """By a rename: the library reads the file at any moment."""
    (runner.folder / "rules.new").write_text(fault.rule + "\n", encoding="ascii")
    os.rename(runner.folder / "rules.new", runner.folder / "rules")


def no_rule(runner, _fault):
    (runner.folder / "rules").write_text("", encoding="ascii")


def draw_failure(rng):
    calls = ",".join(rng.sample(CALLS, rng.choice((1, 1, 2, len(CALLS)))))
    first = rng.randint(1, 8)
    span = rng.choice(("", f" {first}", f" {first} {first + rng.randint(0, 8)}"))
    part = rng.choice(("", "", "", " @.jsonl", " @.tmp."))
    return f"{calls} {rng.choice(ERRORS)}{span}{part}"


def draw_delay(rng):
    calls = ",".join(rng.sample(("write", "fsync", "rename", "open"), rng.randint(1, 3)))
    what = rng.choice(("hang", "hang", f"slow:{rng.randint(1, 20)}", "short"))
    return f"{'write' if what == 'short' else calls} {what}"


def draw_death(rng):
    return f"all {rng.choice(('kill-before', 'kill-after'))} {rng.randint(1, 90)}"


def spare_mpi(rule, chunked):
    """For files that servers write together. MPI-IO makes the calls then: where an open, a close, a truncation or, while HDF5 closes the file,
    a write of metadata fails on one rank alone, the others stay in a collective call, which nobody can end; and OpenMPI takes a write that
    was short for one that failed. The metadata are the superblock, and with chunked datasets the index of the chunks."""
    calls, *rest = rule.split(" ")
    if rest[0] == "short":
        return "write slow:3"
    if rest[0] not in ERRORS:
        return rule
    spared = {"open", "close", "truncate", *(("write",) if chunked else ())}
    left = ["body" if call == "write" else call for call in calls.split(",") if call not in spared]
    return " ".join([",".join(left) or "fsync", *rest])
