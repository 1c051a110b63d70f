"""Which receive got which send: a program whose messages name their send, against the table `messages`."""

import os

import pytest
from recorded import FLAVOUR, PROGRAMS, record

RANKS, ROUNDS = 4, int(os.environ.get("DAMARIS_MESSAGE_ROUNDS", "40"))  # 36 messages each, about

# The ordinals of sends and of posted receives in their process, as the program counts them.
MATCHED = """
with sends as (select id, row_number() over (partition by process order by "begin") - 1 as k from calls where kind = 'send'),
     posts as (select id, row_number() over (partition by process order by "begin") - 1 as k from calls
               where function in ('MPI_Recv', 'MPI_Irecv', 'MPI_Sendrecv', 'MPI_Sendrecv_replace'))
select t.rank, posts.k, s.rank, sends.k from messages m join sends on sends.id = m.send join posts on posts.id = m.recv
join processes s on s.id = m.source join processes t on t.id = m.target
"""

pytestmark = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")


@pytest.mark.parametrize("seed", [1, 2])
def test_each_receive_is_matched_with_the_send_that_it_got(tmp_path, seed):
    done = record([PROGRAMS / "recorded_messages", str(seed), str(ROUNDS)], tmp_path, ranks=RANKS)
    assert done.status == 0, done.err
    said = {(rank, *map(int, line.split())) for rank in range(RANKS) for line in (done.folder / f"received{rank}").read_text().splitlines()}
    assert len(said) > 20 * ROUNDS
    assert set(done.tables.query(MATCHED).fetchall()) == said
    assert done.one("select count(*) from messages") == len(said)
    # A message is received after it has been sent, and as whole.
    assert done.one('select count(*) from messages where received < sent or bytes <> 8') == 0
    # Barriers and communicators: each instance has all members.
    assert done.one("select count(*) from (select instance from collectives join objects o on o.id = comm group by all having count(*) <> max(o.attributes['size']::int))") == 0
    assert done.one("select count(distinct instance) from collectives") == 2 * ROUNDS + 3
