"""What is found in communication, and what a change is promised to gain: recordings with exact times, each with a twin without the habit."""

import pytest
from raw_files import about, call, chunk, completed, message, process, text, write

import damaris
from damaris.facts import Facts
from damaris.findings import find

MS = 10**6
HALF = 4


@pytest.fixture
def ranks(run, number):
    """ranks(n, calls): calls(rank) gives (function, begin, end, peer, tag, bytes) in ms, of each rank; what is found. `helpers`: so many threads of each
    rank write once at the begin; `server`: the rank that is Damaris's."""

    def make(size, calls, helpers=0, server=None):
        for rank in range(size):
            words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=size)
            slots = process(pid=100 + rank, rank=rank, ranks=size) + text(4, words, object=1)
            for name, begin, end, *rest in calls(rank):
                peer, count = (*rest, 8)[:2] if rest else (None, 8)
                place = message(peer, 5) if peer is not None else None
                slots += call(number(name), round(begin * MS), round(end * MS), object=1, bytes=count, **({} if place is None else {"place": place}))
                if name == "MPI_Sendrecv_replace":
                    slots += completed(0, peer, 5, count, HALF)
            if rank == server:
                slots += call(number("on_event"), 0, MS)
            written = [text(2, "/data/out", object=2) + call(number("pwrite"), MS, 2 * MS, object=2, bytes=8, place=0) for _ in range(helpers)]
            chunks = [chunk(slots), *(chunk(one, thread=thread) for thread, one in enumerate(written, 1))]
            write(run, *chunks, name=f"node.{100 + rank}.1")
        return {one.code: one for one in find(Facts(damaris.open(run)))}

    return make


def chain(delays, run):
    """Each step: rank s % 4 computes 10 ms, the others 1; then all exchange with their left and right neighbours, `run` times each, in this order."""

    def simulate():
        clock, calls = [0.0] * 4, [[] for _ in range(4)]
        for step in range(8):
            for rank in range(4):
                clock[rank] += 10 if rank == delays(step) else 1
            for _ in range(run):
                for left in range(3):  # 0-1, 1-2, 2-3: rank 1 comes to 2 when it is done with 0
                    begin = [clock[left], clock[left + 1]]
                    end = max(begin) + 0.01
                    for rank, peer, at in ((left, left + 1, begin[0]), (left + 1, left, begin[1])):
                        calls[rank].append(("MPI_Sendrecv_replace", at, end, peer))
                        clock[rank] = end + 0.001
        return calls

    made = simulate()
    return lambda rank: made[rank]


def test_a_chain_of_exchanges_is_found_with_what_its_end_gains(ranks):
    found = ranks(4, chain(lambda step: (step * 3) % 4, 3))
    assert "C1" in found and found["C1"].seconds > 0 and "chains of MPI_Sendrecv" in found["C1"].title


def test_single_exchanges_are_no_chain(ranks):
    def calls(rank):
        return [("MPI_Sendrecv_replace", 10 * k + (k % 2 if rank else 0), 10 * k + 2, 1 - rank) for k in range(10)]

    assert "C1" not in ranks(2, calls)


def test_a_run_of_small_sums_gains_all_but_the_last(ranks):
    found = ranks(2, lambda rank: [("MPI_Allreduce", 20 * k + j * 2.01, 20 * k + j * 2.01 + 2) for k in range(5) for j in range(4)])
    # 5 runs of 4: of each 3 calls of 2 ms are saved, in both ranks.
    assert found["C2"].severity == "high" and found["C2"].seconds == pytest.approx(5 * 3 * 2 * 2e-3, rel=0.02)


@pytest.mark.parametrize("count", [8, 100_000])
def test_sums_apart_and_large_ones_are_no_run(ranks, count):
    gap = 2.01 if count > 1024 else 2.2
    assert "C2" not in ranks(2, lambda rank: [("MPI_Allreduce", j * gap, j * gap + 2, None, count) for j in range(20)])


def barrier_twice(rank):
    """In turn each rank is late by 10 ms at a barrier; nothing else connects them."""
    return [("MPI_Barrier", 20 * k + (10 if k % 2 == rank else 0), 20 * k + 10.1) for k in range(10)]


def test_barriers_that_only_keep_in_step_are_found_with_their_gain(ranks):
    found = ranks(2, barrier_twice)
    # Each rank computes 10 ms of each 20 when it is early: of 190 ms about half is waiting.
    assert found["C3"].severity == "high" and "10 barriers" in found["C3"].evidence


def test_barriers_after_which_all_wait_anyway_are_none(ranks):
    def calls(rank):
        out = []
        for k in range(10):
            late = 10 if k % 2 == rank else 0
            out += [("MPI_Barrier", 20 * k + late, 20 * k + 10.0001), ("MPI_Allreduce", 20 * k + 10.1, 20 * k + 10.2)]
        return out

    assert "C3" not in ranks(2, calls)


def late(sender_computes):
    """In each of ten steps rank 0 computes and sends to 1 and 2, who then compute 10 ms; all meet at the end."""

    def calls(rank):
        out, sent = [], sender_computes
        for begin in (k * (sender_computes + 11) for k in range(10)):
            if rank == 0:
                out += [("MPI_Send", begin + sent, begin + sent + 0.1, 1), ("MPI_Send", begin + sent + 0.11, begin + sent + 0.2, 2)]
            else:
                out += [("MPI_Recv", begin + 0.5, begin + sent + 0.3, 0)]
            out += [("MPI_Barrier", begin + sent + (0.3 if rank == 0 else 10.3), begin + sent + 10.5)]
        return out

    return calls


def test_a_late_sender_is_named(ranks):
    found = ranks(3, late(12))
    assert found["C4"].ranks == [0] and "process 0 sent late" in found["C4"].evidence


def test_a_sender_in_time_is_not(ranks):
    assert "C4" not in ranks(3, late(0.4))


def work(shares):
    def calls(rank):
        return [("MPI_Allreduce", 20 * k + shares[rank], 20 * k + max(shares) + 0.1) for k in range(10)]

    return calls


def test_work_that_is_not_even_gains_what_the_others_wait(ranks):
    found = ranks(4, work([19, 4, 4, 4]))
    # On average they compute 7.75 of 19 ms: ten times 11.25 ms, of four processes; but for the pause behind each sum.
    assert found["C5"].severity == "high" and found["C5"].seconds == pytest.approx(4 * 10 * 0.01125, rel=0.15)


def test_even_work_is_no_imbalance(ranks):
    assert "C5" not in ranks(4, work([10, 10, 10.1, 10]))


def test_threads_that_only_write_are_no_imbalance_and_gain_nothing(ranks):
    assert "C5" not in ranks(4, work([10, 10, 10.1, 10]), helpers=4)


def test_gains_are_those_of_processes_not_of_threads(ranks):
    assert ranks(4, work([19, 4, 4, 4]), helpers=4)["C5"].seconds == pytest.approx(4 * 10 * 0.01125, rel=0.15)


def test_a_server_that_waits_for_clients_is_no_imbalance(ranks):
    assert "C5" not in ranks(4, work([10, 10, 10, 2]), server=3)


def test_a_program_without_communication_needs_no_plan(run, number, verb, monkeypatch):
    monkeypatch.setattr("damaris.communication.MOST_PLANNED", 10)
    monkeypatch.setattr("damaris.communication.plan_of", None)
    writes = b"".join(call(number("pwrite"), k * MS, k * MS + 10, object=2, bytes=8, place=8 * k) for k in range(20))
    write(run, chunk(process() + text(2, "/data/out", object=2) + writes))
    status, said, _ = verb("report", run)
    assert status == 0 and "Communication" not in said


def test_calls_on_files_count_for_the_size_of_a_plan(ranks, run, verb, monkeypatch):
    monkeypatch.setattr("damaris.communication.MOST_PLANNED", 23)
    assert "C3" not in ranks(2, barrier_twice, helpers=2)
    assert "Communication was not looked at: of 24 calls of MPI and on files its rules would take minutes" in " ".join(verb("report", run)[1].split())


def test_more_calls_than_the_rules_are_for_are_said(ranks, run, verb, monkeypatch):
    monkeypatch.setattr("damaris.communication.MOST_CALLS", 10)
    assert not {code for code in ranks(2, barrier_twice) if code.startswith("C")}
    assert "Communication was not looked at: of 20 calls of MPI" in " ".join(verb("report", run, "--console")[1].split())
