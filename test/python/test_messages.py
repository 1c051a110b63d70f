"""Messages, requests and collective calls: who gets which, also where partners are missing."""

import pytest
from raw_files import about, call, chunk, completed, message, process, requested, text, write

DESCRIPTION = 4
CANCELLED, HALF = 1, 4


@pytest.fixture
def ranks(run, number):
    """ranks([slots, ...]): a recording of one process for each list of slots, all in a communicator, which is object 1."""

    def make(*slots, size=None):
        for rank, mine in enumerate(slots):
            words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=size or len(slots))
            head = process(pid=100 + rank, rank=rank, ranks=len(slots)) + text(DESCRIPTION, words, object=1)
            write(run, chunk(head + b"".join(mine)), name=f"node.{100 + rank}.1")

    return make


@pytest.fixture
def did(number):
    """did("MPI_Send", begin, peer, tag): a call of 10 ns."""
    return lambda name, begin, peer=None, tag=0, bytes=8, ns=10, place=None: call(
        number(name), begin, begin + ns, object=1, bytes=bytes, place=place if place is not None else message(-1 if peer is None else peer, tag))


MESSAGES = 'select s."begin", p."begin", d."begin", m.bytes from messages m join calls s on s.id = send join calls p on p.id = recv left join calls d on d.id = done order by 1'
ALONE = ("sends_alone", "receives_alone", "collectives_lacking")


def alone(run):
    import damaris

    return tuple(damaris.open(run).about[key] for key in ALONE)


def test_figure_4_1_of_two_posted_receives_the_first_gets_the_first_send(ranks, did, run, rows):
    ranks([did("MPI_Send", 1000, 1, 5), did("MPI_Send", 2000, 1, 5)],
          [did("MPI_Irecv", 3000), requested(0x77), did("MPI_Irecv", 4000), requested(0x88), did("MPI_Wait", 5000), completed(0x88, 0, 5, 8),
           did("MPI_Wait", 6000), completed(0x77, 0, 5, 8)])  # fmt: skip
    shift = 1_000_000_000
    got = [tuple(one - shift for one in row[:3]) for row in rows(MESSAGES)]
    assert [[one % 10_000 for one in row] for row in got] == [[1000, 3000, 6000], [2000, 4000, 5000]]
    assert alone(run) == (0, 0, 0)


def test_a_handle_that_is_used_again_is_another_request(ranks, did, rows):
    ranks([did("MPI_Send", 1000, 1, tag) for tag in (5, 6)],
          [did("MPI_Irecv", 3000), requested(0x77), did("MPI_Wait", 3100), completed(0x77, 0, 6, 8),
           did("MPI_Irecv", 4000), requested(0x77), did("MPI_Wait", 4100), completed(0x77, 0, 5, 8)])  # fmt: skip
    assert rows("select tag, start < r.done from messages join requests r on start = recv order by recv") == [(6, True), (5, True)]


def test_a_sendrecv_is_both(ranks, did, rows):
    ranks([did("MPI_Sendrecv", 1000, 1, 5), completed(0, 1, 6, 16, HALF)], [did("MPI_Sendrecv", 1000, 0, 6, 16), completed(0, 0, 5, 8, HALF)])
    assert rows("select source, target, tag, bytes from messages order by source") == [(0, 1, 5, 8), (1, 0, 6, 16)]
    assert rows("select count(*) from requests") == [(0,)]


def test_a_cancelled_receive_gets_nothing(ranks, did, run, rows):
    ranks([did("MPI_Send", 1000, 1, 5)],
          [did("MPI_Irecv", 500), requested(1), did("MPI_Wait", 600), completed(1, 0, 5, 0, CANCELLED), did("MPI_Recv", 700, 0, 5)])  # fmt: skip
    assert rows("select count(*) from messages join calls on id = recv where function = 'MPI_Recv'") == [(1,)]
    assert alone(run) == (0, 0, 0)


def test_one_that_has_not_completed_counts_if_it_asked_for_one_envelope(ranks, did, rows):
    ranks([did("MPI_Send", 1000, 1, 5), did("MPI_Send", 2000, 1, 5)],
          [did("MPI_Irecv", 500, 0, 5), requested(1), did("MPI_Recv", 700, 0, 5)])  # fmt: skip
    assert rows('select function, done is null from messages join calls on id = recv order by send') == [("MPI_Irecv", True), ("MPI_Recv", False)]


def test_what_has_no_partner_is_counted_and_said(ranks, did, run, verb):
    ranks([did("MPI_Send", 1000, 1, 5), did("MPI_Send", 1100, 2, 5), did("MPI_Barrier", 2000), did("MPI_Barrier", 3000)],
          [did("MPI_Recv", 1500, 0, 9), did("MPI_Recv", 1600, -2), did("MPI_Barrier", 2000)])  # fmt: skip
    status, said, _ = verb("info", run)
    assert status == 0
    assert "Without a partner: 2 sends, 1 receive, 1 collective call." in " ".join(said.split())
    assert alone(run) == (2, 1, 1)


def test_an_envelope_of_which_an_end_was_not_seen_is_left_alone(ranks, did, run, rows):
    """The second receive got the second send, but what received the first has no wrapper."""
    ranks([did("MPI_Send", 1000, 1, 5, 20), did("MPI_Send", 2000, 1, 5, 100), did("MPI_Send", 2500, 1, 6)], [did("MPI_Recv", 3000, 0, 5, 100), did("MPI_Recv", 4000, 0, 6)])
    assert rows("select tag from messages") == [(6,)]
    assert alone(run) == (2, 1, 0)


def test_collective_calls_meet_by_their_order_on_the_communicator(ranks, did, number, run, rows):
    def on_file(name, begin):
        return call(number(name), begin, begin + 10, object=2)

    def calls(begin):
        return [did("MPI_Barrier", begin), did("MPI_Comm_dup", begin + 100, place=1), text(2, "/data/x", object=2),
                call(number("MPI_File_open"), begin + 200, begin + 210, object=2, place=1), on_file("MPI_File_set_view", begin + 300),
                did("MPI_Bcast", begin + 400, place=1), on_file("MPI_File_write_at_all", begin + 500)]  # fmt: skip

    ranks(calls(1000), calls(9000))
    met = rows("select list(function order by rank) from collectives join calls on id = call group by instance order by min(call)")
    assert met == [([name] * 2,) for name in ("MPI_Barrier", "MPI_Comm_dup", "MPI_File_open", "MPI_File_set_view", "MPI_Bcast", "MPI_File_write_at_all")]
    assert alone(run) == (0, 0, 0)
