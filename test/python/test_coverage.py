"""How processes ended, and which share of the bytes that they wrote was seen."""

import os

import pytest
import raw_files as raw

PATH_1 = raw.text(raw.PATH, "/d/a", object=1)
PROCESSES = "select pid, ended, seen, counted from processes order by id"


def writes(number, *bytes, at=10, function="pwrite"):
    return b"".join(raw.call(number(function), at + i, at + i + 1, object=1, bytes=one, place=0) for i, one in enumerate(bytes))


def test_what_the_kernel_counted_is_compared_with_what_was_seen(run, rows, number, verb):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 600, 387) + raw.end(100, wchar=2000, own=900, dropped=100)))
    assert rows(PROCESSES) == [(100, "exit", 987, 1000)]
    assert "98.7 % of the bytes written were seen (987 of 1,000)" in verb("info", run)[1]


@pytest.mark.parametrize(("seen", "said"), [(1000, "100.0 %"), (999, "99.9 %"), (998, "99.8 %"), (0, "0.0 %")])
def test_the_share_is_never_rounded_up(run, number, verb, seen, said):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, seen) + raw.end(100, wchar=1000)))
    assert f"\n{said} of the bytes written were seen ({seen:,} of 1,000)" in verb("info", run)[1]


def test_a_share_close_to_all_has_more_digits(run, number, verb):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 999_999) + raw.end(100, wchar=1_000_000)))
    assert "99.999 % of the bytes written were seen" in verb("info", run)[1]


def test_bytes_that_wait_in_a_stream_have_not_been_written(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 500, function="fwrite") + raw.end(100, wchar=400, pending=100)))
    assert rows(PROCESSES) == [(100, "exit", 400, 400)]


def test_calls_of_layers_above_and_after_the_last_words_do_not_count(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 50, at=11) + writes(number, 50, at=10, function="MPI_File_write_at")
                             + raw.end(100, wchar=50) + writes(number, 7, at=200)))  # fmt: skip
    assert rows(PROCESSES) == [(100, "exit", 50, 50)]


def test_streams_in_memory_do_not_hide_what_was_not_seen(run, rows, number, verb):
    in_memory = raw.call(number("fwrite"), 10, 11, bytes=4096) + raw.call(number("fread"), 12, 13, bytes=2048)
    raw.write(run, raw.chunk(raw.process() + PATH_1 + in_memory + writes(number, 1000, at=20) + raw.end(100, wchar=5096)))
    assert rows(PROCESSES) == [(100, "exit", 1000, 5096)]
    output = verb("info", run)[1]
    assert "19.6 % of the bytes written were seen" in output and "4.0 KiB" not in output and "2.0 KiB" not in output


def test_the_share_is_at_most_100_percent(run, number, verb):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 500) + raw.end(100, wchar=400)))
    assert "100.0 % of the bytes written were seen" in verb("info", run)[1]


def test_the_parents_count_contains_its_childrens(run, rows, number):
    """One child has words, one was killed; a third ended after its parent's words, so it was not waited for."""
    raw.write(run, raw.chunk(raw.process(pid=10, parent=1, monotonic=0) + PATH_1 + writes(number, 30) + raw.end(1000, wchar=30 + 500 + 7)), name="node.10.1")
    raw.write(run, raw.chunk(raw.process(pid=11, parent=10, monotonic=50) + PATH_1 + writes(number, 500, at=60) + raw.end(100, wchar=500)), name="node.11.1")
    raw.write(run, raw.chunk(raw.process(pid=12, parent=10, monotonic=50) + PATH_1 + writes(number, 7, at=60)), name="node.12.1")
    raw.write(run, raw.chunk(raw.process(pid=13, parent=10, monotonic=50) + PATH_1 + writes(number, 9, at=60) + raw.end(2000, wchar=9)), name="node.13.1")
    assert rows(PROCESSES) == [(10, "exit", 30, 30), (11, "exit", 500, 500), (12, "killed", 7, None), (13, "exit", 9, 9)]


@pytest.mark.parametrize(("facts", "counted"), [({}, 8000), ({"thread_wchar": 11_500}, 10_000)])
def test_a_child_that_nobody_waited_for_does_not_hide_what_was_not_seen(run, rows, number, facts, counted):
    """The parent wrote 10,000 bytes, of which 8,000 were seen, and its count has none of the child's 4,000."""
    words = raw.end(1000, wchar=11_500, own=1000, dropped=500, **facts)
    raw.write(run, raw.chunk(raw.process(pid=10, monotonic=0) + PATH_1 + writes(number, 8000) + words), name="node.10.1")
    raw.write(run, raw.chunk(raw.process(pid=11, parent=10, monotonic=50) + PATH_1 + writes(number, 4000, at=60) + raw.end(100, wchar=4000)), name="node.11.1")
    assert rows(PROCESSES) == [(10, "exit", 8000, counted), (11, "exit", 4000, 4000)]


def test_a_process_that_became_another_program_has_its_share(run, rows, number):
    shell = raw.process(pid=10, monotonic=0, program="/bin/sh") + PATH_1 + writes(number, 60) + raw.end(100, "exec", wchar=80)
    raw.write(run, raw.chunk(shell), name="node.10.1")
    raw.write(run, raw.chunk(raw.process(pid=10, monotonic=110) + PATH_1 + writes(number, 2, at=120) + raw.end(200, wchar=2)), name="node.10.2")
    assert rows(PROCESSES) == [(10, "exec", 60, 80), (10, "exit", 2, 2)]


@pytest.mark.parametrize(("later", "row"), [(raw.end(200, wchar=11), (10, "exit", 11, 11)), (b"", (10, "killed", 11, None))])
def test_words_before_an_exec_that_failed_do_not_count(run, rows, number, later, row):
    raw.write(run, raw.chunk(raw.process(pid=10) + PATH_1 + writes(number, 4) + raw.end(100, "exec", wchar=4) + writes(number, 7, at=150) + later))
    assert rows(PROCESSES) == [row]


def test_a_killed_process_is_told_and_one_that_became_another_program_is_none(run, rows, number, verb):
    raw.write(run, raw.chunk(raw.process(pid=10, monotonic=0, program="/bin/sh") + PATH_1 + writes(number, 1)), name="node.10.1")
    raw.write(run, raw.chunk(raw.process(pid=10, monotonic=100, program="/bin/cat") + PATH_1 + writes(number, 2, at=110) + raw.end(200, wchar=2)), name="node.10.2")
    raw.write(run, raw.chunk(raw.process(pid=11, monotonic=0) + PATH_1 + writes(number, 4)), name="node.11.1")
    assert rows("select program, ended from processes order by id") == [("/bin/sh", "exec"), ("/bin/cat", "exit"), ("/bin/model", "killed")]
    output = " ".join(verb("info", run)[1].split())
    assert "1 process was killed: its bytes are counted, its coverage is not known." in output and "2 processes on 1 host" in output
    assert "100.0 % of the bytes written were seen (2 of 2)" in output


def test_a_write_in_which_the_process_died_counts_with_what_was_asked(run, rows, number, verb):
    cut = raw.slot(raw.STARTED, 50, number("pwrite"), 0, raw.CUT, 1, 4096, 0)
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 1) + cut))
    assert rows("select bytes, flags, function from calls order by begin") == [(1, 0, "pwrite"), (4096, 4, "pwrite")]
    assert "1 write had not returned when the process died" in " ".join(verb("info", run)[1].split())


def test_without_last_words_the_share_is_not_known_and_without_bytes_there_is_none(run, number, verb):
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 8)))
    assert "was seen is not known: no process has ended by itself." in " ".join(verb("info", run)[1].split())
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 8, function="read") + raw.end(100)))
    assert "The kernel counted no bytes written." in verb("info", run)[1]


def test_the_last_words_are_the_ones_that_count(run, rows, number):
    """Also if another thread said the first ones, whose chunk comes later."""
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 8) + raw.end(100, "_exit", wchar=8)), raw.chunk(raw.end(50, wchar=4), thread=1))
    assert rows(PROCESSES) == [(100, "_exit", 8, 8)]
    raw.write(run, raw.chunk(raw.process() + PATH_1 + writes(number, 8) + raw.end(50, "exit", wchar=4) + raw.end(100, "_exit", wchar=8)))
    assert rows(PROCESSES) == [(100, "_exit", 8, 8)]


def test_losses_and_what_was_not_observed_are_told(run, number, verb):
    slots = raw.process() + PATH_1 + writes(number, 8) + raw.text(raw.LOSS, "the file system refused a chunk", place=30_000)
    slots += raw.text(raw.LOSS, "no room on the file system for a chunk")
    slots += raw.text(raw.LOSS, "not observed: the plugin hdf5 has a symbol scope of its own") + raw.end(100, wchar=8)
    for pid in (10, 11):
        raw.write(run, raw.chunk(slots), name=f"node.{pid}.1")
    output = " ".join(verb("info", run)[1].split())
    assert "The file system refused a chunk, 60,000 calls lost (2 processes)." in output
    assert "No room on the file system for a chunk (2 processes)." in output
    assert "Not observed: the plugin hdf5 has a symbol scope of its own (2 processes)." in output


def test_clocks_of_several_hosts_are_not_trusted(run, number, verb):
    for host in ("n1", "n2"):
        raw.write(run, raw.chunk(raw.process(host=host) + PATH_1 + writes(number, 8) + raw.end(100, wchar=8)), name=f"{host}.100.1")
    output = verb("info", run)[1]
    assert "2 processes on 2 hosts" in output and "the clocks of 2 hosts" in output


def test_a_process_that_runs_is_told(run, number, verb):
    raw.write(run, raw.chunk(raw.process(pid=os.getpid(), host=os.uname().nodename) + PATH_1 + writes(number, 8)))
    assert "1 process still running" in verb("info", run)[1]
