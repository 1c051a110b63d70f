"""The budgets that concern the middleware, and which rows of which part belong to each.

Used by: verdicts.py. Before it: names of rows. After it: the order of the verdicts; a budget without a figure is told, not left out.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    part: str
    rows: str  # pattern of whole names
    name: str  # what stands there when no row has such a name
    absent: str = "no row of this name"  # why a part that ran may have none


WRITE_PHASE = "write phase seen by the simulation, median: "
SOLUTION = "time to solution, "
NO_PAY = "no output was large enough for a dedicated core to pay"
NO_HALF = "no run's writes were about half"


def write_phase(way):
    return tuple(Wanted(part, f"{WRITE_PHASE}{way} / damaris.*", f"{WRITE_PHASE}{way} / damaris") for part in ("phases", "phases-shared"))


def at_equal_cores(way, where, absent):
    return tuple(Wanted(part, rf"{SOLUTION}{way} / damaris.*", f"{SOLUTION}{way} / damaris, {where}", absent) for part in ("cm1", "cm1-parts"))


BUDGETS = (
    ("A write of 64 B: time added over memcpy",
     (Wanted("write", r"dc_write 64 B, ns added over memcpy.*", "dc_write 64 B, ns added over memcpy"),)),
    ("A write of 1 MiB and more, against memcpy into shared memory that was touched before",
     (Wanted("write", r"dc_write (>= )?\d+ MiB over memcpy.*", "dc_write >= 1 MiB over memcpy"),)),
    ("The same while the server writes and compresses: p99 / p50",
     (Wanted("write", r"dc_write \d+ MiB, server writes, p99 / p50", "dc_write 1 MiB, server writes, p99 / p50"),
      Wanted("write", r"dc_write \d+ MiB, server compresses, p99 / p50", "dc_write 1 and 16 MiB, server compresses, p99 / p50"))),
    ("An event against a message of boost message_queue, 1 to 3 producers: times faster",
     (Wanted("queue", r"event against boost message_queue, .*", "event against boost message_queue"),)),
    ("Storing: a server's HDF5 file against pwrite of the same bytes, a durable iteration against pwrite + fsync",
     (Wanted("persist", r"HDF5 file, of pwrite", "HDF5 file, of pwrite"),
      Wanted("persist", r"durable iteration, of pwrite \+ fsync", "durable iteration, of pwrite + fsync"))),
    ("Compression that any HDF5 reads, against HDF5's shuffle and deflate 1: speed of a core, and size",
     (Wanted("reduce", r"(deflate )?\d+ CM1 fields.*", "deflate, CM1 fields"),
      Wanted("reduce", r"ratio to HDF5's, \d+ CM1 fields.*", "ratio to HDF5's, CM1 fields"),
      Wanted("reduce", r"turbulence fields.*", "turbulence fields"),
      Wanted("reduce", r"ratio to HDF5's, turbulence fields", "ratio to HDF5's, turbulence fields"))),
    ("A write phase as the simulation sees it: times less than a file per process, and than collective HDF5",
     (*write_phase("file per process"), *write_phase("collective"))),
    ("The slowest rank of a write phase, in copies of its own data",
     tuple(Wanted(part, r"slowest rank of a write phase over its own memcpy.*", "slowest rank of a write phase over its own memcpy")
           for part in ("phases", "phases-shared"))),
    ("The CM1 mini-app at equal cores, dedicated core charged: time to solution, other ways by ours",
     (*at_equal_cores("best other way", "from the break-even on", NO_PAY), *at_equal_cores("collective", "where writes are half", NO_HALF))),
)
