"""Plans of recordings: which operations they have, and that virtual time gives the recorded one."""

import io
import os

import pytest
from plans import run as evaluated
from raw_files import about, call, chunk, completed, message, process, requested, text, write

import damaris
from damaris.planning import plan_of

PATH, DESCRIPTION = 2, 4


@pytest.fixture
def planned(run, number):
    """planned([calls, ...]): the lines of each process in the plan of a recording; what a call is, is in `did` and `io`."""

    def make(*processes, layer="posix", recorder_ns=0):
        for rank, mine in enumerate(processes):
            words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=len(processes))
            files = text(PATH, "/data/out", object=2) + text(PATH, "/data/in file", object=3)
            head = process(pid=100 + rank, rank=rank, ranks=len(processes)) + text(DESCRIPTION, words, object=1) + files
            write(run, chunk(head + b"".join(mine)), name=f"node.{100 + rank}.1")
        plan = plan_of(damaris.open(run), layer, recorder_ns)
        plan.write(out := io.StringIO())
        make.text, make.plan = out.getvalue(), plan
        return [[op.line() for op in one.ops] for one in plan.processes]

    return make


@pytest.fixture
def did(number):
    return lambda name, begin, end, peer=None, tag=0, bytes=8, place=None: call(
        number(name), begin, end, object=1, bytes=bytes, place=place if place is not None else message(-1 if peer is None else peer, tag))


@pytest.fixture
def on_file(number):
    return lambda name, begin, end, offset=0, bytes=0, file=2: call(number(name), begin, end, object=file, bytes=bytes, place=offset)


def total(planned):
    return max(evaluated(planned.text)[0])


def test_io_keeps_its_order_offsets_and_times(planned, on_file):
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
    [lines] = planned([on_file("open", 1000, 1100, flags), on_file("pwrite", 1500, 1700, 4096, 100), on_file("fsync", 1700, 1800), on_file("ftruncate", 1800, 1810, 50),
                       on_file("pread", 2000, 2100, 4000, 96), on_file("close", 2100, 2150), on_file("unlink", 2200, 2210)])  # fmt: skip
    assert lines == ["o 0 rwct # 100", "c 400", "w 0 4096 100 # 200", "s 0 # 100", "t 0 50 # 10", "c 190", "r 0 4000 96 # 100", "x 0 # 50", "c 50", "u 0 # 10"]
    assert planned.text.splitlines()[:4] == ["damaris plan 1", "layer posix", "recorded 1210", "file 0 0 out"]
    assert total(planned) == 1210


def test_the_start_and_end_of_mpi_are_no_computing(planned, did):
    [lines, other] = planned([did("MPI_Init", 1000, 1500), did("MPI_Barrier", 2000, 2100), did("MPI_Finalize", 3000, 3300)],
                             [did("MPI_Init", 1000, 1700), did("MPI_Barrier", 1900, 2100), did("MPI_Finalize", 3000, 3400)])  # fmt: skip
    assert lines == ["b 1 500", "c 500", "b 0 100", "c 900", "b 2 300"] and other == ["b 3 700", "c 200", "b 0 100", "c 900", "b 4 400"]
    assert total(planned) == 2400


def test_what_is_read_before_anybody_wrote_it_was_there(planned, on_file):
    planned([on_file("open", 1000, 1100, os.O_RDONLY, file=3), on_file("pread", 1500, 1700, 4096, 100, file=3)],
            [on_file("pwrite", 1000, 1100, 0, 500), on_file("pread", 1200, 1300, 0, 500), on_file("pread", 1400, 1500, 400, 200)])  # fmt: skip
    assert {line.partition(" ")[2][2:] for line in planned.text.splitlines() if line.startswith("file")} == {"4196 in file", "600 out"}


def test_a_folder_that_is_opened_is_no_file(run, number):
    files = text(PATH, "/data/out", object=2) + text(PATH, "/data", object=3)
    calls = [call(number("open"), 1000, 1100, object=3, place=os.O_RDONLY), call(number("pwrite"), 1200, 1300, object=2, bytes=10, place=0), call(number("fsync"), 1300, 1400, object=3)]
    write(run, chunk(process() + files + b"".join(calls)))
    [mine] = plan_of(damaris.open(run), recorder_ns=0).processes
    assert [op.line() for op in mine.ops] == ["c 200", "o 0 rwc # 0", "w 0 0 10 # 100"]


def test_the_recorders_own_cost_is_no_gap(planned, on_file):
    [lines] = planned([on_file("pwrite", 1000, 1100, 0, 10), on_file("pwrite", 1180, 1200, 10, 10), on_file("pwrite", 1500, 1510, 20, 10)], recorder_ns=80)
    assert [line for line in lines if line.startswith("c")] == ["c 220"]


def test_a_stream_writes_whole_blocks_when_its_buffer_is_full(planned, on_file):
    writes = [on_file("fwrite", 1000 + 100 * k, 1050 + 100 * k, 3000 * k, 3000) for k in range(4)]
    [lines] = planned([on_file("fopen", 900, 950, os.O_WRONLY | os.O_CREAT), *writes, on_file("fclose", 2000, 2010)])
    assert [line.split(" #")[0] for line in lines if line[0] in "wx"] == ["w 0 0 4096", "w 0 4096 4096", "w 0 8192 3808", "x 0"]


def test_a_receiver_waits_for_its_sender_and_then_takes_its_own_cost(planned, did):
    lines = planned([did("MPI_Send", 5000, 5100, 1, 5)], [did("MPI_Recv", 1000, 5300, 0, 5)])
    assert lines == [["c 4000", "p 1 0 8", "c 100"], ["g 1 300"]]
    assert total(planned) == 4300


def test_a_synchronous_send_waits_for_its_receiver(planned, did):
    lines = planned([did("MPI_Ssend", 1000, 6000, 1, 5)], [did("MPI_Recv", 5000, 6100, 0, 5)])
    assert lines == [["p 1 0 8", "g 2 1000"], ["c 4000", "p 2 0 0", "g 1 1100"]]
    assert total(planned) == 5100


def test_a_large_send_waits_for_its_receiver_where_it_completes(planned, did):
    lines = planned([did("MPI_Isend", 1000, 1010, 1, 5, 100_000), requested(9), did("MPI_Wait", 2000, 6000), completed(9)],
                    [did("MPI_Irecv", 5000, 5010), requested(7), did("MPI_Wait", 5500, 6500), completed(7, 0, 5, 100_000)])  # fmt: skip
    assert lines == [["p 1 0 100000", "c 1000", "g 2 1000"], ["c 4000", "p 2 0 0", "c 500", "g 1 1000"]]


@pytest.mark.parametrize(
    ("function", "kind", "begins", "costs"),
    [
        ("MPI_Barrier", "b", (1000, 3000, 2000), (50, 150, 250)),
        ("MPI_Allreduce", "a", (1000, 3000, 2000), (50, 150, 250)),
        ("MPI_Bcast", "f", (1000, 2500, 2000), (550, 650, 750)),  # of the root
        ("MPI_Reduce", "e", (1000, 3000, 2000), (2050, 150, 1250)),  # the root waits
        ("MPI_Scan", "q", (1000, 2500, 2000), (2050, 650, 750)),  # for those before
    ],
)
def test_collective_calls_wait_by_their_kind(planned, did, function, kind, begins, costs):
    ends = (3050, 3150, 3250)
    lines = planned(*([did(function, begin, end, place=1)] for begin, end in zip(begins, ends, strict=True)))
    root = " root" if kind in "fe" else ""
    assert [one[-1] for one in lines] == [f"{kind} 0 {costs[0]}", f"{kind} 0 {costs[1]}{root}", f"{kind} 0 {costs[2]}"]
    assert evaluated(planned.text)[0] == [end - 1000 for end in ends]


def test_a_collective_call_on_a_file_waits_before_its_io_and_at_its_end(planned, did, on_file, number):
    def calls(begin, first, last, end):
        inner = call(number("pwrite"), first, last, depth=1, object=2, bytes=10, place=0) if first else b""
        opened = call(number("MPI_File_open"), 1000, 1100, object=3, place=1)
        return [opened, inner, call(number("MPI_File_write_at_all"), begin, end, object=3, bytes=10, place=0)]

    lines = planned(calls(2000, 3500, 4000, 4100), calls(3000, None, None, 4200))
    assert lines == [["a 0 100", "c 900", "a 1 500", "o 0 rwc # 0", "w 0 0 10 # 500", "b 2 100"], ["a 0 100", "c 1900", "a 1 0", "b 2 200"]]
    assert total(planned) == 3200


def test_plans_of_mpiio_have_what_the_program_asked_for(planned, number):
    def calls(begin, end):
        return [call(number("MPI_File_open"), 1000, 1100, object=3, place=1), call(number("pwrite"), begin + 10, end - 10, depth=1, object=2, bytes=10, place=0),
                call(number("MPI_File_write_at_all"), begin, end, object=3, bytes=10, place=70)]  # fmt: skip

    lines = planned(calls(2000, 4100), calls(3000, 4200), layer="mpiio")
    assert lines[0] == ["a 0 0", "o 0 rwc # 100", "c 900", "a 1 0", "w 0 70 10 # 1100"]
    assert total(planned) == 3200


def test_the_root_is_the_rank_that_was_named_also_if_others_are_missing(run, number, did):
    def write_ranks(present, function):
        for rank, begin in present.items():
            words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=3)
            write(run, chunk(process(pid=100 + rank, rank=rank, ranks=3) + text(DESCRIPTION, words, object=1) + did(function, begin, 5000, place=1)), name=f"node.{100 + rank}.1")
        return [op.line() for one in plan_of(damaris.open(run), recorder_ns=0).processes for op in one.ops]

    assert write_ranks({1: 1000, 2: 2000}, "MPI_Bcast") == ["f 0 4000 root", "c 1000", "f 0 3000"]
    (run / "raw/node.101.1.trace").unlink()
    assert write_ranks({0: 1000, 2: 2000}, "MPI_Bcast") == ["c 4000", "c 4000"]  # nobody is its root


def test_who_left_before_others_came_did_not_wait(planned, did):
    assert planned([did("MPI_Alltoall", 1000, 2000)], [did("MPI_Alltoall", 3000, 4000)]) == [["c 1000"], ["c 3000"]]


def test_a_message_that_was_sent_after_its_receipt_is_none_that_was_waited_for(planned, did):
    """Clocks of hosts differ."""
    assert planned([did("MPI_Send", 5000, 5100, 1, 5)], [did("MPI_Recv", 1000, 1300, 0, 5)]) == [["c 4100"], ["c 300"]]


def test_what_another_thread_opened_is_opened_by_the_one_that_uses_it(run, number):
    files = text(PATH, "/data/out", object=2)
    opens = b"".join(call(number("open"), 1000 + 1000 * k, 1100 + 1000 * k, object=2, place=os.O_WRONLY) for k in range(2))
    writes = b"".join(call(number(name), begin + 1000 * k, begin + 50 + 1000 * k, object=2, bytes=10, place=0) for k in range(2) for name, begin in (("pwrite", 1200), ("fsync", 1300), ("close", 1400)))
    write(run, chunk(process() + files + opens), chunk(writes, thread=1))
    main, other = plan_of(damaris.open(run), recorder_ns=0).processes
    assert [op.line()[:3] for op in main.ops if op.kind != "c"] == ["o 0", "o 0"]
    assert [op.kind for op in other.ops if op.kind != "c"] == ["o", "w", "s", "x"] * 2


def test_a_file_open_for_reading_is_written_through_an_open_of_its_own(planned, on_file):
    [lines] = planned([on_file("open", 1000, 1100, os.O_RDONLY), on_file("pwrite", 1100, 1200, 0, 10)])
    assert lines == ["o 0 rc # 100", "o 0 rwc # 0", "w 0 0 10 # 100"]


def test_what_a_stream_holds_at_the_end_is_written(planned, on_file):
    [lines] = planned([on_file("puts", 1000, 1100, 0, 80)])
    assert lines == ["c 100", "o 0 rwc # 0", "w 0 0 80 # 0"]


def test_appends_go_to_the_end_of_the_file(planned, on_file):
    implicit = -(2**63) + 1
    appends = [on_file("write", 2000 + 100 * k, 2050 + 100 * k, implicit, 10) for k in range(3)]
    [lines] = planned([on_file("open", 1000, 1100, os.O_WRONLY | os.O_APPEND), *appends])
    assert [line.split(" #")[0] for line in lines if line[0] in "ow"] == ["o 0 wca", "w 0 0 10", "w 0 10 10", "w 0 20 10"]


def test_blanks_at_the_ends_of_names_are_kept(run, number):
    files = b"".join(text(PATH, name, object=2 + k) for k, name in enumerate(("/data/b", "/data/b ", "/data/a b")))
    write(run, chunk(process() + files + b"".join(call(number("pwrite"), 1000 * k, 1000 * k + 10, object=2 + k, bytes=1, place=0) for k in range(3))))
    plan_of(damaris.open(run)).write(out := io.StringIO())
    assert {line.split(" ", 3)[3] for line in out.getvalue().splitlines() if line.startswith("file")} == {"b", "b%20", "a b"}


def test_a_message_whose_receive_is_not_there_is_left_out(planned, did):
    assert planned([did("MPI_Send", 1000, 1100, 1, 5)], [did("MPI_Send", 1000, 1200, 0, 5)]) == [["c 100"], ["c 200"]]


def test_the_verb_writes_the_plan_and_says_what_is_in_it(planned, on_file, run, verb):
    planned([on_file("open", 1000, 1100, os.O_WRONLY), on_file("pwrite", 1500, 1700, 0, 100)], recorder_ns=80)
    status, said, _ = verb("plan", run, "-o", "plan")
    assert (status, said) == (0, "plan: 1 process, 1 file, 1 read or write, 3 operations, recorded 0.000 s\n")
    assert (run.parent / "plan").read_text() == planned.text
    assert verb("plan", run, "--prune")[:2] == (0, planned.text)
    status, _, complaint = verb("plan", run, "-o", "nowhere/plan")
    assert status == 1 and "cannot write 'nowhere/plan': No such file or directory" in complaint
