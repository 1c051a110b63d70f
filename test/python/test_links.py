"""Which call of a client a dataset of the server comes from: the table links, and the branches of calls."""

import pytest
from raw_files import DESCRIPTION, about, call, chunk, message, process, slot, text, write

OF_BLOCK = 6


def block(source, number, count, simulation=0):
    return slot(OF_BLOCK, begin=count, place=message(source, number), object=simulation)


def variable(name, object=1):
    return text(DESCRIPTION, about(kind="variable", name=name), object=object)


@pytest.fixture
def client(run, number):
    """Writes the file of client `source`: each write is (begin, step, block, bytes) of the variable u."""

    def make(source, *writes, simulation=0, pid=None):
        pid = source if pid is None else pid
        slots = b"".join(call(number("dc_write_block"), begin, begin + 10, object=1, bytes=size, place=step) + block(source, which, size, simulation) for begin, step, which, size in writes)
        write(run, chunk(process(pid=pid, rank=pid, ranks=3) + variable("u") + slots, identity=1 + pid), name=f"node.{pid}.1")

    return make


@pytest.fixture
def server(run, number):
    """Each dataset is (begin, step, blocks); a pwrite of its bytes is in it, and on_step is around all."""

    def make(*datasets, name="u"):
        slots = b""
        for begin, step, blocks in datasets:
            size = sum(count for _, _, count, *_ in blocks)
            slots += call(number("pwrite"), begin + 1, begin + 50, depth=2, bytes=size, place=0)
            slots += call(number("write_dataset"), begin, begin + 80, depth=1, object=1, bytes=size, place=step)
            slots += b"".join(block(*one) for one in blocks)
        slots += call(number("on_step"), 100, 5000, place=1)
        write(run, chunk(process(pid=9, rank=2, ranks=3) + variable(name) + slots, identity=9), name="node.9.1")

    return make


LINKS = """select l.bytes, w.process, w.begin - 1000000000, c.begin - 1000000000 from links l join calls c on c.id = l.call join calls w on w.id = l.writer
order by 4, 2"""
BRANCHES = """select c.function, p.process, p.function, r.process, r.function, b.function from calls c left join calls p on p.id = c.parent
join calls r on r.id = c.root join calls b on b.id = c.branch where c.process = 2 order by c.begin, c.depth"""


def test_a_dataset_of_two_blocks_belongs_to_both_and_lies_below_the_last(client, server, rows):
    client(0, (10, 1, 0, 600))
    client(1, (20, 1, 0, 400))
    server((200, 1, [(0, 0, 600), (1, 0, 400)]))
    assert rows(LINKS) == [(600, 0, 10, 200), (400, 1, 20, 200)]
    assert rows(BRANCHES) == [
        ("on_step", None, None, 2, "on_step", "on_step"),
        ("write_dataset", 1, "dc_write_block", 1, "dc_write_block", "write_dataset"),
        ("pwrite", 2, "write_dataset", 1, "dc_write_block", "write_dataset"),
    ]
    # Times of the thread are as they were.
    assert rows("select below from calls where function = 'on_step'") == [(80,)]


def test_variable_step_source_and_block_tell_blocks_apart(client, server, rows):
    client(0, (10, 1, 0, 1), (30, 1, 1, 2), (50, 2, 0, 3))
    client(1, (20, 1, 0, 4))
    server((200, 1, [(0, 1, 2)]), (300, 2, [(0, 0, 3)]), (400, 1, [(1, 0, 4), (0, 0, 1)]), (500, 7, [(0, 0, 1)]))
    assert rows(LINKS) == [(2, 0, 30, 200), (3, 0, 50, 300), (1, 0, 10, 400), (4, 1, 20, 400)]


def test_simulations_with_the_same_names_and_clients_are_told_apart(client, server, rows):
    client(0, (10, 1, 0, 5), simulation=1)
    client(0, (20, 1, 0, 5), simulation=2, pid=1)
    server((200, 1, [(0, 0, 5, 1)]), (300, 1, [(0, 0, 5, 2)]), (400, 1, [(0, 0, 5, 3)]))
    assert rows(LINKS) == [(5, 0, 10, 200), (5, 1, 20, 300)]


def test_a_block_that_is_written_twice_is_that_of_the_last_call_before(client, server, rows):
    client(0, (10, 1, 0, 5), (1000, 1, 0, 5))
    server((200, 1, [(0, 0, 5)]), (1200, 1, [(0, 0, 5)]), (1400, 1, [(0, 0, 5)]))
    assert rows(LINKS) == [(5, 0, 10, 200), (5, 0, 1000, 1200), (5, 0, 1000, 1400)]


def test_a_block_that_nobody_wrote_has_no_link(client, server, rows):
    client(0, (10, 1, 0, 5))
    server((200, 1, [(0, 0, 5)]), name="v")
    assert rows(LINKS) == []
    assert rows("select count(*) from calls where root <> branch") == [(0,)]
