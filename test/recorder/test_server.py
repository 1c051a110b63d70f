"""Recordings through a server of the node: what they say is what those with a file a process say, in few files; and whatever dies, nothing is lost."""

import os
import re
import sys
from pathlib import Path

import pytest
from recorded import FLAVOUR, PROGRAMS, record, run
from test_process import CASES, STATUS
from test_programs import MELT

MANY = 64
mpi = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")
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
    assert pools(recorded) == []


@mpi
def test_many_processes_in_two_files(tmp_path):
    alone, served = in_both_ways([PROGRAMS / "recorded_many", "2000", "none"], tmp_path, MANY, options=["--files", "2"])
    assert raw(served) == [f"trace.{os.uname().nodename}.s0.calls.{end}" for end in ("0.stream", "1.stream", "stream-index")]
    assert len(raw(alone)) == MANY
    assert counts(alone) == counts(served) and writes(served) == expected(MANY, 2000)
    settled(served)


@pytest.mark.skipif(FLAVOUR != "openmpi", reason="SKIP: Debian's LAMMPS is one of Open MPI")
def test_lammps(tmp_path):
    alone, served = in_both_ways(["lmp", "-in", "in.melt"], tmp_path, 3, lambda folder: (folder / "in.melt").write_text(MELT), ["--files", "2"])
    assert 3 <= len(raw(served)) <= 6
    # Not what depends on time: how often a rank asks for a message, who is first at MPI-IO's test of locks, how long a line of the log is.
    varying = re.compile("MPI_Test|unlink|remove|log.lammps|locktest")
    same = [[row for row in counts(one) if not varying.search(f"{row[2]} {row[3]}")] for one in (alone, served)]
    assert same[0] == same[1] and {row[1] for row in same[0]} == {"mpi", "mpiio", "posix", "stdio"}
    assert (alone.folder / "dump.mpiio").read_bytes() == (served.folder / "dump.mpiio").read_bytes()
    settled(served)


@pytest.mark.parametrize("case", CASES)
def test_every_byte_is_in_the_log(case, tmp_path):
    served = record([PROGRAMS / "recorded_process", case], tmp_path, options=["--server", "--chunks", "16"])
    assert served.status == STATUS.get(case, 0)
    assert served.written() == {name: count for name, count in CASES[case].items() if count}
    settled(served)


@mpi
def test_half_of_the_ranks_are_killed(tmp_path):
    served = record([PROGRAMS / "recorded_many", "5000", "ranks killed"], tmp_path, 8, options=["--server"])
    assert served.status != 0
    assert writes(served) == expected(8, 5000)
    settled(served)


@mpi
def test_the_server_is_killed_in_the_middle(tmp_path):
    served = record([PROGRAMS / "recorded_many", "60000", "server killed"], tmp_path, 4, options=["--server"])
    assert served.status == 0, served.err
    assert writes(served) == expected(4, 60000)
    assert len([name for name in raw(served) if name.endswith(".trace")]) == 4  # each has gone on in a file of its own
    settled(served)


def test_the_server_and_the_process_are_killed(tmp_path):
    served = record([PROGRAMS / "recorded_many_alone", "60000", "both killed"], tmp_path, options=["--server"])
    assert served.status == -9 and len(pools(served)) == 1
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]
    settled(served)
    assert any(name.endswith(".pool") for name in raw(served))
    (served.recording / "store/store.json").unlink()  # the raw files have it all
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]


def test_a_full_pool_of_a_server_that_does_nothing_makes_files(tmp_path):
    calls = 700_000  # twice what the pool holds
    environment = {**os.environ, "DAMARIS_RECORDING_WAIT_MS": "50"}
    served = record([PROGRAMS / "recorded_many_alone", str(calls), "server stopped"], tmp_path, options=["--server", "--chunks", "1"], env=environment)
    assert served.status == 0
    assert writes(served) == [(None, *expected(1, calls)[0][1:])]
    assert len([name for name in raw(served) if name.endswith(".trace")]) == 1


def test_damaged_bytes_of_a_log_are_a_loss_of_that_process(tmp_path):
    served = record([PROGRAMS / "recorded_many_alone", "60000", "none"], tmp_path, options=["--server"])
    [log] = (served.recording / "raw").glob("*.stream")
    data = bytearray(log.read_bytes())
    data[1_000_000] ^= 0xFF
    log.write_bytes(data)
    assert served.one("select count(*) from losses where why like '%damaged%'") == 1
    assert served.one("select count(*) from calls where function = 'pwrite'") > 50_000


def test_runs_one_after_the_other_have_one_log(tmp_path):
    """What a shell starts is a job of many short processes: servers come and go."""
    served = record(["sh", "-c", f"for i in 1 2 3; do '{PROGRAMS}/recorded_process' ends_at_once; done"], tmp_path, options=["--server"])
    assert served.one("select sum(bytes)::bigint from calls where kind = 'write'") == 3 * CASES["ends_at_once"]["written"]
    assert len(raw(served)) == 2
    settled(served)


@mpi
@pytest.mark.parametrize("options", [[], ["--server"]])
def test_all_flush_at_the_same_collective_call(options, tmp_path):
    """Each rank makes 60000 calls and 62 barriers: two chunks' worth."""
    (folder := tmp_path / "work").mkdir()
    recorded = record([PROGRAMS / "recorded_many", "60000", "none"], tmp_path, 4, options=["--flush-together", "3", *options])
    assert recorded.status == 0, recorded.err
    assert writes(recorded) == expected(4, 60000) and list(folder.iterdir())
    flushes = recorded.tables.query("""select c.process, count(*), count(c.parent), min(b.ordinal), max(b.ordinal) from calls c
        asof join (select process, "end", row_number() over (partition by process order by begin) as ordinal from calls where function = 'MPI_Barrier') b
        on c.process = b.process and c.begin >= b."end" where c.function = 'flush' group by all""").fetchall()
    assert len(flushes) == 4 and len({row[1:] for row in flushes}) == 1  # after the same barriers
    [_, count, parents, first, last] = flushes[0]
    assert count >= 3 and parents == 0 and first % 3 == last % 3 == 0
    agreed = recorded.tables.query("select process, count(*) from calls where layer = 'recorder' and function = 'synchronise' group by all").fetchall()
    assert {calls for _, calls in agreed} == {62 // 3 + count}
    settled(recorded)


@pytest.mark.skipif("CM1_PROGRAM" not in os.environ, reason="SKIP: this build has no mini-app")
def test_a_client_of_damaris(tmp_path):
    sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/examples/cm1")
    from run_cm1 import prepare

    settings = {"nx": 30, "ny": 26, "nz": 20, "dtl": 6.0, "timax": 60.0, "tapfrq": 60.0, "statfrq": 60.0, "zd": 8000.0, "backend": "damaris"}
    alone, served = in_both_ways([os.environ["CM1_PROGRAM"]], tmp_path, 3, lambda folder: prepare(folder, settings), ["--files", "2"],
                                 env={**os.environ, "DAMARIS_LOG": "off"})  # fmt: skip
    assert 3 <= len(raw(served)) <= 6
    of_clients = [[row for row in counts(one) if row[1] == "damaris"] for one in (alone, served)]
    assert of_clients[0] == of_clients[1] and of_clients[0]
    of_server = [[row for row in counts(one) if row[2] in ("H5Dwrite", "H5Fcreate")] for one in (alone, served)]
    assert [(row[0], row[4], row[5]) for row in of_server[0]] == [(row[0], row[4], row[5]) for row in of_server[1]] and of_server[0]
    settled(served)


@pytest.mark.parametrize("option", [["--files", "0"], ["--files", "two"], ["--chunks", "-1"], ["--flush-together", "0"]])
def test_numbers_that_are_none_are_refused(option, tmp_path):
    told = run(["damaris", "record", "--server", *option, "true"], tmp_path)
    assert told.status == 2 and option[0].encode() in told.err and b"--help" in told.err
