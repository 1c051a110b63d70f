"""Recordings through a server of the node: what they say is what those with a file a process say, in few files."""

import os
import re
import sys

import pytest
from recorded import FLAVOUR, PROGRAMS, record, run
from served import counts, expected, in_both_ways, raw, settled, writes
from test_process import CASES
from test_programs import MELT

MANY = 64
mpi = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")


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


def test_runs_one_after_the_other_have_one_log(tmp_path):
    """What a shell starts is a job of many short processes: servers come and go."""
    served = record(["sh", "-c", f"for i in 1 2 3; do '{PROGRAMS}/recorded_process' ends_at_once; done"], tmp_path, options=["--server"])
    assert served.one("select sum(bytes)::bigint from calls where kind = 'write'") == 3 * CASES["ends_at_once"]["written"]
    assert len(raw(served)) == 2
    settled(served)


def test_a_server_goes_on_with_the_log_of_one_that_has_ended(tmp_path):
    """A script that each rank runs may record several programs."""
    environment = {**os.environ, "PMIX_NAMESPACE": "one job"}
    for times in (1, 2, 3):
        served = record([PROGRAMS / "recorded_process", "ends_at_once"], tmp_path, options=["--server"], env=environment)
        settled(served)
        assert served.one("select sum(bytes)::bigint from calls where kind = 'write'") == times * CASES["ends_at_once"]["written"]
    assert served.one("select count(distinct process) from calls") == 3 and len(raw(served)) == 2


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
    # Of the steps' files; how often the views of the run are made anew depends on time.
    of_server = [{row[3] for row in counts(one) if row[2] == "pwrite" and re.search(r"\.i\d+\.h5$", row[3] or "") and row[5] > 1_000_000} for one in (alone, served)]
    assert of_server[0] == of_server[1] and len(of_server[0]) == 2
    settled(served)


@pytest.mark.parametrize("option", [["--files", "0"], ["--files", "two"], ["--chunks", "-1"], ["--flush-together", "0"]])
def test_numbers_that_are_none_are_refused(option, tmp_path):
    told = run(["damaris", "record", "--server", *option, "true"], tmp_path)
    assert told.status == 2 and option[0].encode() in told.err and b"--help" in told.err
