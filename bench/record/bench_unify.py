#!/usr/bin/env python3
"""How fast is unify, and how much memory does it take? bench_unify.py [--slots N] [--processes N] [--run FOLDER]

Generates raw files, of writes inside an MPI-IO call as collective output makes them, and unifies them in a process of its own. Prints slots a
CPU second, peak memory and stored bytes a call."""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test/support"))
import raw_files

GROUP = 4  # three writes and the call around them


def numbers() -> tuple[int, int]:
    from damaris import kernel

    names = kernel.functions().name
    return names.index("pwrite"), names.index("MPI_File_write_at_all")


def slots_of(count: int, random) -> np.ndarray:
    pwrite, collective = numbers()
    slots = np.zeros(count, raw_files.SLOT)
    slots["duration"] = random.lognormal(9, 1, count).astype("u4") + 100
    inner = np.arange(count) % GROUP != GROUP - 1
    slots["function"] = np.where(inner, pwrite, collective)
    slots["depth"] = inner
    slots["object"] = np.where(inner, random.integers(2, 6, count), 1)
    slots["bytes"] = random.choice([512, 4096, 4096, 65536, 1048576], count)
    ends = np.cumsum(slots["duration"].astype("u8") * inner + 50 + random.integers(0, 500, count).astype("u8"))
    slots["begin"] = ends - slots["duration"]
    outer = slots[GROUP - 1 :: GROUP]
    outer["begin"] = slots["begin"][: len(outer) * GROUP : GROUP] - 20
    outer["duration"] = ends[GROUP - 1 :: GROUP] - outer["begin"]
    slots["place"] = np.cumsum(slots["bytes"].astype("i8"))
    return slots


def generate(run: Path, slots: int, processes: int) -> None:
    random = np.random.default_rng(1)
    for rank in range(processes):
        texts = raw_files.process(pid=100 + rank, rank=rank, ranks=processes, monotonic=0, realtime=10**18)
        texts += b"".join(raw_files.text(raw_files.PATH, f"/scratch/model/output.{i}", object=i) for i in range(1, 6))
        words = texts + slots_of(slots // processes // GROUP * GROUP, random).tobytes()
        room = raw_files.SLOTS * raw_files.SLOT.itemsize
        chunks = [raw_files.chunk(words[at : at + room], 0, number) for number, at in enumerate(range(0, len(words), room))]
        raw_files.write(run, *chunks, name=f"node.{rank:05}.1")


def measure(run: Path) -> dict:
    child = os.fork()
    if child == 0:
        from damaris.unify import unify

        unify(run)
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit("bench_unify: unify failed")
    stored = sum(path.stat().st_size for path in (run / "store").rglob("*.parquet"))
    calls = json.loads((run / "store/store.json").read_text())["calls"]
    seconds = usage.ru_utime + usage.ru_stime
    return {"calls": calls, "cpu_seconds": round(seconds, 2), "million_slots_a_cpu_second": round(calls / seconds / 1e6, 2),
            "peak_bytes_a_call": round(usage.ru_maxrss * 1024 / calls, 1), "stored_bytes_a_call": round(stored / calls, 2)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--run", type=Path, help="keep the recording here, and use it again")
    given = parser.parse_args()
    run = given.run or Path(tempfile.mkdtemp(prefix="bench_unify."))
    try:
        if not (run / "raw").exists():
            child = os.fork()  # its memory does not count
            if child == 0:
                generate(run, given.slots, given.processes)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                sys.exit("bench_unify: the recording was not generated")
        print(json.dumps(measure(run), indent=1))
    finally:
        if not given.run:
            shutil.rmtree(run, ignore_errors=True)


main()
