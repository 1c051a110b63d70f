"""Children, closed descriptors, threads, and every way to end: the program runs as alone, and every byte is in the trace."""

import signal

import pytest
from recorded import PROGRAMS, both, why_no_strace

THREADS = {f"thread{i}": 20 * 3000 for i in range(8)} | {"main": 5}
STRACED = ("forked", "executed", "started", "without_standard", "exits_inside")  # the others write too often
STATUS = {"killed": -9, "ends_at_once": 3, "aborts": -6, "exits_inside": 4, "jumps_outside": 5, "crashes": 7}
# What each case writes, in bytes of write calls. Of what ends in a stream's buffer more than reaches the file.
CASES = {
    "forked": {"shared": 311, "child0": 200, "child1": 200, "child2": 200},
    "executed": {"before": 10, "after": 20},
    "started": {"parent": 30, "spawned": 20, "vforked": 20, "by_shell": 4, "piped": 5},
    "fails_to_start": {"parent": 30},
    "copies_behind_pipe": {"copied": 1000},
    "without_standard": {"zero": 500, "one": 600},
    "without_descriptors": {"before": 30, "opened": 300_037},
    "closed_range": {"before": 30, "after": 300_000},
    "threaded": THREADS,
    "forks_inside": {"before": 10, "child": 50},
    "first_thread_leaves": {"after": 1000},
    "killed": {"posix": 150_000, "stdio": 30_000},
    "ends_at_once": {"written": 40},
    "aborts": {"written": 50},
    "exits_inside": {"inside": 33, "outside": 0},
    "jumps_outside": {"inside": 2211, "outside": 33},
    "jumps_from_search": {"compared": 1, "outside": 33},
    "interrupted": {"outside": 33},
    "crashes": {"written": 60},
}


@pytest.mark.parametrize("case", CASES)
def test_every_byte_is_in_the_trace(case, tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_process", case], tmp_path, traced=case in STRACED)
    assert plain.status == STATUS.get(case, 0)
    assert recorded.written() == {name: count for name, count in CASES[case].items() if count}
    for name in recorded.sizes():
        assert (recorded.folder / name).read_bytes() == (plain.folder / name).read_bytes()
    if recorded.trace:
        assert recorded.straced() == recorded.written()


def test_constructors_of_libraries_may_write_and_wait(tmp_path):
    """Such a recorder could hang with the loader, or take the program's messages and values of threads."""
    plain, recorded = both([PROGRAMS / "recorded_loader", PROGRAMS / "librecorded_loaded.so"], tmp_path)
    lines = plain.out.decode().splitlines()
    assert lines[:3] == ["linked: 42", "loaded: 42", "not loaded:"] and "missing.so" in lines[3]
    assert recorded.written() == plain.sizes() == {"by_constructor": 38, "by_thread": 14, "reason": len(lines[3])}


def test_a_name_of_a_folder_says_nothing_of_its_files(tmp_path):
    (place := tmp_path / "ompi.4.1").mkdir()
    _, recorded = both([PROGRAMS / "recorded_process", "ends_at_once"], place)
    assert recorded.written() == CASES["ends_at_once"]


def test_copies_of_a_descriptor_and_seeks_of_streams_move_the_offset(tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", "moves_offsets"], tmp_path)
    for name, expected in {"copied": [(0, 10), (10, 20), (30, 30), (60, 40)], "streamed": [(0, 10), (10, 20), (0, 5), (10, 7)]}.items():
        assert expected == recorded.tables.query(f"""select c."offset", c.bytes from calls c join objects o on o.id = c.object
            where c.kind = 'write' and o.name = '{recorded.folder / name}' order by c.begin""").fetchall()


@pytest.mark.parametrize("case, calls", [("limited", 0), ("limited_later", 17_000)])
def test_a_file_that_may_not_grow_is_a_loss_that_is_counted(case, calls, tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", case], tmp_path)
    assert recorded.sizes() == {"small": 150_000}
    seen, lost = recorded.one("select count(*) from calls"), recorded.tables.losses.fetchall()
    assert calls <= seen < 50_000 and lost
    assert case == "limited" or seen + recorded.one("select sum(calls) from losses") >= 50_002


def test_strace_has_looked():
    if why_no_strace():
        pytest.skip(f"SKIP: nothing was compared with strace: {why_no_strace()}")


@pytest.mark.parametrize("case, how", [("ends_at_once", "_exit"), ("aborts", "killed"), ("killed", "killed"), ("jumps_outside", "exit"),
                                       ("becomes_another", "exec"), ("becomes_another_unrecorded", "exec"), ("stays_itself", "exit"),
                                       ("fails_to_start", "exit")])  # fmt: skip
def test_the_end_of_a_process_is_known(case, how, tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", case], tmp_path)
    [[ended, seen, counted]] = recorded.tables.query("select ended, seen, counted from processes").fetchall()
    assert ended == how
    assert how == "killed" or seen == counted > 0


@pytest.mark.parametrize("case", ["jumps_outside", "jumps_from_search", "interrupted", "interrupted_often"])
def test_a_call_that_was_left_is_not_around_later_ones(case, tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", case], tmp_path)
    assert recorded.tables.query("""select count(c.id) > 0, count(c.parent) from calls c join objects o on o.id = c.object
        where o.name like '%/outside'""").fetchall() == [(True, 0)]


def test_the_recorder_takes_no_standard_descriptor_where_few_are_allowed(tmp_path):
    _, recorded = both(["sh", "-c", f"ulimit -n 64; exec '{PROGRAMS}/recorded_process' without_standard"], tmp_path)
    assert recorded.status == 0 and recorded.written() == CASES["without_standard"]


def test_a_pipe_and_a_terminal_are_no_files(tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_process", "prints"], tmp_path)
    assert (plain.status, plain.out, plain.err) == (6, b"a line\n", b"a complaint\n")
    assert recorded.written() == {}


def test_children_are_processes_of_their_own(tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", "forked"], tmp_path)
    rows = recorded.tables.query("""select p.parent, p.pid, sum(c.bytes)::bigint from calls c join processes p on p.id = c.process
        where c.kind = 'write' group by all order by 3""").fetchall()
    parent = rows[0][1]
    assert [bytes_ for _, _, bytes_ in rows] == [11, 300, 300, 300]
    assert all(row[0] == parent for row in rows[1:])


def test_an_aborted_run_keeps_its_signal(tmp_path):
    _, recorded = both([PROGRAMS / "recorded_process", "aborts"], tmp_path)
    assert recorded.status == -signal.SIGABRT
