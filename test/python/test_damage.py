"""Raw files that are cut, damaged or foreign, and a unify that does not come to its end."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import raw_files as raw

import damaris
from damaris import kernel
from damaris.unify import is_current, unify

SLOT = raw.SLOT.itemsize


def a_file(number, calls=40):
    """The slots of a process, and where each of its calls ends."""
    slots, ends = raw.process() + raw.text(raw.PATH, "/data/a", object=1), []
    for i in range(calls):
        long = i % 5 == 4
        slots += raw.call(number("pwrite"), 10 * i, 10 * i + 5, object=1, bytes=2**33 if long else i, place=i)
        ends.append(64 + len(slots))
    return slots, ends


def decode(path):
    return kernel.decode([(path, 0, 0)], kernel.functions().roles)


def test_a_file_cut_at_any_byte_gives_the_calls_before_the_cut(run, number):
    slots, ends = a_file(number)
    path = raw.write(run, raw.chunk(slots))
    whole = path.read_bytes()[: 64 + len(slots) + SLOT]
    cuts = {at + d for at in range(0, len(whole), SLOT) for d in (-1, 0, 1, 13)} & set(range(len(whole)))
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        if cut < 64:
            with pytest.raises(damaris.Refused, match="no file of the recorder, or is cut"):
                decode(path)
        else:
            found = decode(path)
            assert len(found.calls) == sum(end <= cut for end in ends), cut
            assert "ends within the chunk at byte 0" in found.damage


def test_a_cut_file_is_a_loss_that_info_names(run, number, verb, rows):
    slots, ends = a_file(number)
    path = raw.write(run, raw.chunk(slots))
    path.write_bytes(path.read_bytes()[: ends[10] + 5])
    assert rows("select count(*) from calls") == [(11,)]
    assert rows("select ended from processes") == [("unknown",)]
    status, output, _ = verb("info", run)
    assert status == 0 and "ends within the chunk" in " ".join(output.split())


def test_flipped_bits_never_end_unify_and_leave_the_other_process_whole(run, number, rows):
    slots, _ = a_file(number)
    good = raw.chunk(slots, identity=7)
    raw.write(run, good, name="node.200.7")
    chosen = random.Random(11)
    for _ in range(40):
        bad = bytearray(raw.chunk(slots))
        for _ in range(chosen.choice((1, 3, 100))):
            bad[chosen.randrange(64 + len(slots))] ^= 1 << chosen.randrange(8)
        raw.write(run, bytes(bad))
        unify(run)
        assert rows("select count(*) from calls c join objects o on o.id = c.object where o.name = '/data/a'")[0][0] >= 40


def test_a_damaged_chunk_costs_its_own_calls_only(run, number, rows):
    chunks = [raw.chunk((raw.process() if i == 0 else b"") + raw.call(number("pwrite"), i, i + 1, bytes=i, place=0), sequence=i) for i in range(3)]
    chunks[1] = b"X" + chunks[1][1:]
    raw.write(run, *chunks)
    assert rows("select bytes from calls order by begin") == [(0,), (2,)]
    assert "1 of 3 chunks" in rows("select why from losses")[0][0]


def test_missing_chunks_leave_a_gap_in_their_thread(run, number, rows):
    def chunk(sequence, *calls, thread=0):
        words = raw.process(monotonic=5, realtime=5) if (thread, sequence) == (0, 0) else b""
        return raw.chunk(words + b"".join(raw.call(number("pwrite"), begin, begin + 3) for begin in calls), thread=thread, sequence=sequence)

    raw.write(run, chunk(0, 10, 20), chunk(3, 50, 60), chunk(4, 70), chunk(1, 40, 45, thread=1), chunk(0, 15, thread=2))
    assert rows("select * from gaps order by thread") == [(0, 0, 23, 50), (0, 1, 5, 40)]  # of the second thread not even the begin is there


def test_a_chunk_that_is_there_twice_counts_once(run, number, rows):
    """A killed process leaves the mapped chunk and its copy at the end of the file."""
    first = raw.process() + raw.call(number("pwrite"), 1, 2, bytes=1, place=0)
    raw.write(run, raw.chunk(first), raw.chunk(first + raw.call(number("pwrite"), 3, 4, bytes=2, place=0)))
    assert rows("select bytes from calls order by begin") == [(1,), (2,)]


@pytest.mark.parametrize(("content", "said"), [
    (b"", ": the disk was full, or the process was killed before its first call"), (b"\0", ": the disk was full"), (bytes(raw.CHUNK), ": the disk was full"),
    (b"hello" * 1000, " is no file of the recorder, or is cut")])  # fmt: skip
def test_a_file_without_a_chunk_is_a_loss_that_info_names_by_its_path(run, number, verb, content, said):
    raw.write(run, raw.chunk(a_file(number)[0] + raw.end(10**6)))
    raw.write(run, content, name="node.300.1")
    [[process, why]] = damaris.open("run").query("select process, why from losses").fetchall()
    assert process is None and why.startswith(f"run/raw/node.300.1.trace{said}")
    assert f"library. {why}." in " ".join(verb("info", "run")[1].split())


@pytest.mark.parametrize("version", [raw.VERSION - 1, raw.VERSION + 1])
def test_another_version_is_not_guessed_at(run, number, rows, version):
    other = bytearray(raw.chunk(a_file(number)[0]))
    other[8] = version
    raw.write(run, bytes(other))
    assert rows("select count(*) from calls") == [(0,)]
    [[why]] = rows("select why from losses")
    assert why.endswith(f"node.100.1.trace is of version {version} of the recorder, this damaris reads {raw.VERSION}: use the one that recorded it")


def test_a_store_is_made_anew_if_raw_files_have_changed_and_only_then(run, number, rows):
    slots, _ = a_file(number)
    raw.write(run, raw.chunk(slots + raw.end(10**6)))
    assert rows("select count(*) from calls") == [(40,)]
    made = os.stat(run / "store").st_ino
    assert is_current(run) and rows("select count(*) from calls") == [(40,)] and os.stat(run / "store").st_ino == made
    raw.write(run, raw.chunk(slots), name="node.101.1")
    assert not is_current(run) and rows("select count(*) from calls") == [(80,)]


@pytest.mark.parametrize("host", ["node", os.uname().nodename])
def test_raw_files_may_be_removed_once_the_store_is_made(run, number, rows, verb, host):
    """Also that of a process that ran then."""
    raw.write(run, raw.chunk(raw.process(pid=os.getpid(), host=host) + raw.call(number("pwrite"), 1, 2, place=0)))
    ended = raw.write(run, raw.chunk(raw.end(9)), name="node.200.1")
    assert rows("select count(*) from processes") == [(2,)]
    ended.unlink()
    assert is_current(run) == (host == "node")
    shutil.rmtree(run / "raw")
    assert rows("select count(*) from calls") == [(1,)]
    status, _, complaint = verb("unify", run)
    assert status == 1 and "is not made anew" in complaint and rows("select count(*) from calls") == [(1,)]


def test_a_recording_without_a_raw_file_has_an_empty_store_until_there_is_one(run, number, rows, verb):
    path = raw.write(run, raw.chunk(raw.call(number("pwrite"), 1, 2, place=0)))
    whole = path.read_bytes()
    path.unlink()
    assert rows("select count(*) from calls") == [(0,)] and verb("unify", run)[0] == 0
    path.write_bytes(whole)
    assert rows("select count(*) from calls") == [(1,)]


def test_the_store_of_a_process_that_lives_is_asked_for_again(run, number, rows):
    raw.write(run, raw.chunk(raw.process(pid=os.getpid(), host=os.uname().nodename) + raw.call(number("pwrite"), 1, 2, place=0)))
    assert rows("select ended from processes") == [("running",)] and not is_current(run)


def test_a_unify_that_is_killed_leaves_nothing_that_counts(run, number, rows):
    raw.write(run, raw.chunk(a_file(number)[0] + raw.end(10**6)))
    stopped = """import os, signal, sys
from pathlib import Path
import pyarrow.parquet
write = pyarrow.parquet.write_table
def die(table, path, **options):
    write(table, path, **options)
    os.kill(os.getpid(), signal.SIGKILL)
pyarrow.parquet.write_table = die
from damaris.unify import unify
unify(Path(sys.argv[1]))"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", stopped, run], check=False)
        assert done.returncode == -signal.SIGKILL and not (run / "store").exists()
    assert rows("select count(*) from calls") == [(40,)]
    assert sorted(path.name for path in run.iterdir()) == [".lock", "raw", "recording.json", "store"]


def test_two_that_ask_at_once_get_the_same_store(run, number):
    raw.write(run, raw.chunk(a_file(number)[0] + raw.end(10**6)))
    counts = []

    def ask():
        counts.append(damaris.open(run).query("select count(*) from calls").fetchall())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert counts == [[(40,)]] * 4
