"""Recordings through the server of a node, as tests look at them."""

import re
import time
from pathlib import Path

from recorded import LIMIT_S, record

COUNTS = """select p.rank, c.layer, c.function, o.name, count(*), sum(c.bytes)::bigint from calls c join processes p on p.id = c.process
    left join objects o on o.id = c.object where c.layer != 'recorder' group by all order by all"""


def raw(recorded):
    return sorted(path.name for path in (recorded.recording / "raw").iterdir())


def pools(recorded):
    identity = re.search(r'"id": "(\w+)"', (recorded.recording / "recording.json").read_text())[1]
    return list(Path("/dev/shm").glob(f"damaris-recording-{identity}*"))


def counts(recorded):
    """Of each process, function and file: calls and bytes."""
    return [(*row[:3], row[3] and row[3].replace(str(recorded.folder), ""), *row[4:]) for row in recorded.tables.query(COUNTS).fetchall()]


def writes(recorded):
    """By rank."""
    return recorded.tables.query("""select p.rank, count(*), sum(c.bytes)::bigint from calls c join processes p on p.id = c.process
        where c.function = 'pwrite' group by all order by all""").fetchall()


def in_both_ways(words, place, ranks, prepare=None, options=(), **more):
    """Without the server, and with it."""
    both = []
    for name, given in (("alone", ()), ("served", ("--server", *options))):
        (folder := place / name / "work").mkdir(parents=True)
        if prepare:
            prepare(folder)
        both.append(record(words, place / name, ranks, options=given, **more))
    assert both[0].status == both[1].status == 0, both[1].err
    assert both[1].err == both[0].err == b""
    return both


def expected(ranks, calls):
    return [(rank, calls, sum(10 + (rank + i) % 50 for i in range(calls))) for rank in range(ranks)]


def settled(recorded):
    """Nothing is lost, and no memory is left."""
    assert recorded.tables.query("select why from losses where why not like 'not observed%'").fetchall() == []
    until = time.monotonic() + LIMIT_S
    while pools(recorded) and time.monotonic() < until:  # the server looks for the dead now and then
        time.sleep(0.01)
    assert pools(recorded) == []
