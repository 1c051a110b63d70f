"""The table of calls: times, offsets, parents, and what is computed from them."""

import random

import numpy as np
import pytest
import raw_files as raw

from damaris import calls as calls_module
from damaris import kernel
from damaris.calls import IO, Nesting
from damaris.kernel import LAYERS

PATH_1 = raw.text(raw.PATH, "/data/a", object=1)


def test_a_call_has_its_times_in_utc_its_place_and_its_result(run, rows, number):
    raw.write(run, raw.chunk(raw.process(monotonic=1000, realtime=5000) + PATH_1 + raw.call(number("pwrite"), 2000, 2300, object=1, bytes=64, place=4096)))
    assert rows('''select begin, "end", layer, kind, function, "offset", bytes, error, flags from calls''') == [
        (6000, 6300, "posix", "write", "pwrite", 4096, 64, None, 0)
    ]


def test_long_calls_and_errors_are_in_the_slot_behind(run, rows, number):
    raw.write(run, raw.chunk(
        raw.process(monotonic=0, realtime=0) + PATH_1
        + raw.call(number("pwrite"), 10, 10 + 2**33, object=1, bytes=2**34, place=0)
        + raw.call(number("pwrite"), 2**34, 2**34 + 7, object=1, place=0, error=28)))  # fmt: skip
    assert rows('select "end" - begin, bytes, error, flags from calls order by begin') == [(2**33, 2**34, None, 0), (7, 0, 28, 1)]


def test_implicit_offsets_are_summed_up_and_unknown_with_o_append(run, rows, number):
    append = raw.text(raw.PATH, "/data/b", object=2, place=0o2001)
    raw.write(run, raw.chunk(
        raw.process() + PATH_1 + append
        + raw.call(number("write"), 10, 11, object=1, bytes=5, place=raw.IMPLICIT) + raw.call(number("lseek"), 20, 21, object=1, place=100)
        + raw.call(number("write"), 30, 31, object=1, bytes=7, place=raw.IMPLICIT) + raw.call(number("read"), 40, 41, object=1, bytes=1, place=raw.IMPLICIT)
        + raw.call(number("write"), 50, 51, object=2, bytes=1, place=raw.IMPLICIT)))  # fmt: skip
    assert rows('select "offset" from calls order by begin') == [(0,), (100,), (100,), (107,), (None,)]


def test_messages_have_a_peer_and_a_tag_and_collectives_a_root(run, rows, number):
    def message(peer, tag):
        place = (peer & 0xFFFFFFFF) << 32 | tag & 0xFFFFFFFF
        return place - 2**64 if place >= 2**63 else place

    raw.write(run, raw.chunk(
        raw.process() + raw.text(raw.DESCRIPTION, "kind=communicator\nname=MPI_COMM_WORLD\nid=world\nrank=0\nsize=2\n", object=1)
        + raw.call(number("MPI_Send"), 10, 11, object=1, bytes=8, place=message(1, 7))
        + raw.call(number("MPI_Recv"), 20, 21, object=1, place=message(-1, -1))
        + raw.call(number("MPI_Bcast"), 30, 31, object=1, bytes=8, place=3)
        + raw.call(number("MPI_Barrier"), 40, 41, object=1)))  # fmt: skip
    assert rows('select peer, tag, "offset" from calls order by begin') == [(1, 7, None), (None, None, None), (3, None, None), (None, None, None)]


def test_calls_inside_others_know_them(run, rows, number):
    """H5Dwrite > MPI_File_write_at > 2 pwrite, then a pwrite alone; slots are written when calls end."""
    raw.write(run, raw.chunk(
        raw.process(monotonic=0, realtime=0) + PATH_1
        + raw.call(number("pwrite"), 30, 40, depth=2, object=1, bytes=1, place=0) + raw.call(number("pwrite"), 50, 65, depth=2, object=1, bytes=2, place=1)
        + raw.call(number("MPI_File_write_at"), 20, 70, depth=1, object=1, bytes=3, place=0)
        + raw.call(number("H5Dwrite"), 10, 80, object=1, bytes=3) + raw.call(number("pwrite"), 90, 95, object=1, bytes=4, place=3)))  # fmt: skip
    assert rows("select id, parent, root, branch, depth, top, below, io from calls order by begin") == [
        (0, None, 0, 0, 0, True, 50, 0), (1, 0, 0, 0, 1, True, 25, 0), (2, 1, 0, 0, 2, True, 0, 0), (3, 1, 0, 0, 2, True, 0, 0),
        (4, None, 4, 4, 0, True, 0, 1)]  # fmt: skip


def test_two_processes_keep_their_own_parents(run, rows, number):
    for rank in (0, 1):
        raw.write(run, raw.chunk(
            raw.process(pid=100 + rank, rank=rank, ranks=2) + PATH_1 + raw.call(number("pwrite"), 20 + rank, 30, depth=1, object=1, bytes=9, place=0)
            + raw.call(number("MPI_File_write_at"), 10, 40, object=1, bytes=9, place=0)), name=f"node.{100 + rank}.1")  # fmt: skip
    assert rows("""select p.rank, c.bytes, a.process = c.process and a.function = 'MPI_File_write_at'
                   from calls c join calls a on a.id = c.parent join processes p on p.id = c.process order by rank""") == [(0, 9, True), (1, 9, True)]


def by_hand(calls, functions):
    """What Nesting computes, one call at a time."""
    root, top, below, outermost = [], [], [0] * len(calls), []
    for i, one in enumerate(calls):
        chain, layer = [], functions.layer[one["function"]]
        parent = one["parent"]
        while parent >= 0:
            chain.append(parent)
            parent = calls[parent]["parent"]
        root.append(chain[-1] if chain else i)
        top.append(all(functions.layer[calls[above]["function"]] != layer for above in chain))
        if chain:
            below[chain[0]] += one["end"] - one["begin"]
        around = [above for above in [i, *chain] if functions.layer[calls[above]["function"]] in LAYERS[: LAYERS.index("mpi")]]
        outermost.append(around[-1] if around else -1)
    order = sorted({one for one in outermost if one >= 0}, key=lambda one: calls[one]["begin"])
    return root, top, below, [order.index(one) if one >= 0 else -1 for one in outermost]


def test_what_is_computed_of_random_trees_equals_what_is_found_by_hand():
    functions, chosen = kernel.functions(), random.Random(3)
    known = [i for i, name in enumerate(functions.name) if name != "?"]
    assert all(functions.layer[i] in LAYERS for i in known) and bin(IO).count("1") == LAYERS.index("mpi")
    calls = np.zeros(400, kernel.CALL)
    open_calls, time = [], 0
    for i in range(len(calls)):
        while open_calls and chosen.random() < 0.45:
            time += 1
            calls[open_calls.pop()]["end"] = time
        time += 1
        calls[i] = (time, 0, open_calls[-1] if open_calls else -1, -1, 0, 0, 0, chosen.choice(known), len(open_calls), 0, 0)
        open_calls.append(i)
    for i in open_calls[::-1]:
        time += 1
        calls[i]["end"] = time
    found = Nesting.of(calls, functions)
    root, top, below, io = by_hand(calls, functions)
    assert found.root.tolist() == root and found.top.tolist() == top and found.below.tolist() == below and found.io.tolist() == io


def test_windows_of_time_hold_each_call_once_by_process_and_thread(run, rows, number, monkeypatch):
    monkeypatch.setattr(calls_module, "SLAB_ROWS", 64)
    chosen = random.Random(5)
    for pid in (1, 2, 3):
        chunks = []
        for thread in (0, 1):
            begins = sorted(chosen.sample(range(100_000), 150))
            slots = b"".join(raw.call(number("pwrite"), begin, begin + 1, object=1, bytes=1, place=0) for begin in begins)
            chunks.append(raw.chunk((raw.process(pid=pid, monotonic=0, realtime=pid) + PATH_1 if thread == 0 else b"") + slots, thread))
        raw.write(run, *chunks, name=f"node.{pid}.1")
    assert rows("select count(*), count(distinct id), min(id), max(id) from calls") == [(900, 900, 0, 899)]
    files = rows(f"""select filename, count(*), min(begin), max(begin) from read_parquet('{run}/store/calls/*.parquet', filename = true)
                     group by 1 order by 1""")
    assert len(files) >= 10 and all(count <= 128 for _, count, _, _ in files)
    assert all(before[3] <= after[2] for before, after in zip(files, files[1:], strict=False))
    for name, *_ in files:
        keys = rows(f"select process, thread, begin from read_parquet('{name}')")
        assert keys == sorted(keys)


@pytest.mark.parametrize("calls", [0, 1])
def test_a_process_with_few_calls_or_none_is_a_process(run, rows, number, calls):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + raw.call(number("pwrite"), 1, 2, object=1, place=0) * calls))
    assert rows("select count(*) from calls") == [(calls,)]
    assert rows("select pid, program from processes") == [(100, "/bin/model")]
