"""Each finding on a recording that has it, and its twin, which does the same work without it and shows none."""

import duckdb
import pyarrow as pa
import pytest

from damaris.facts import Facts
from damaris.findings import RULES, find, severity_of
from damaris.store import STORAGE

MB = 1 << 20
MS = 10**6


class Recording:
    """Rows of a store, made call by call; a process's calls follow each other. Durations in ms."""

    def __init__(self, processes=1, pause=0):
        self.rows, self.names = [], []
        self.time = dict.fromkeys(range(processes), 0)
        self.pause = pause

    def call(self, process, function, kind, name, ms, bytes=0, offset=None, layer="posix"):
        if name not in self.names:
            self.names.append(name)
        begin = self.time[process]
        end = self.time[process] = begin + int(ms * MS)
        self.rows.append({"id": len(self.rows), "parent": None, "root": len(self.rows), "branch": len(self.rows), "process": process, "thread": 0,
                          "begin": begin, "end": end, "depth": 0, "layer": layer, "kind": kind, "function": function,
                          "object": self.names.index(name) + 1, "offset": offset, "bytes": bytes, "top": True, "below": 0, "io": 0, "flags": 0})  # fmt: skip

    def write(self, process, name, ms, bytes, offset=None):
        self.call(process, "pwrite", "write", name, ms, bytes, offset)

    def compute(self, ms):
        for process in self.time:
            self.time[process] += int(ms * MS)

    @property
    def database(self):
        database = duckdb.connect()
        schema = pa.schema([(name, pa.string() if name in ("layer", "kind", "function") else pa.bool_() if name == "top" else pa.int64()) for name in self.rows[0]])
        database.register("calls", pa.Table.from_pylist(self.rows, schema))
        database.register("objects", pa.table({"id": range(1, len(self.names) + 1), "name": self.names, "kind": ["file"] * len(self.names)}))
        ends = [{"id": process, "begin": 0, "end": end} for process, end in self.time.items()]
        database.register("processes", pa.Table.from_pylist(ends))
        return database


class Run:
    def __init__(self, recording):
        self.database = recording.database
        self.database.execute(f"create view storage as {STORAGE}")


def found_in(recording):
    return find(Facts(Run(recording)))


def file_per_process(has_it):
    run = Recording(4)
    for step in range(5):
        run.compute(10)
        for process in range(4):
            name = f"/out/step{step}_rank{process}" if has_it else "/out/all"
            if has_it or (step == 0 and process == 0):
                run.call(process, "open", "open", name, 3)
            run.write(process, name, 1, MB, (4 * step + process) * MB)
    return run


def metadata_storm(has_it):
    run = Recording()
    for i in range(200):
        if has_it or i == 0:
            run.call(0, "open", "open", "/out/a", 2)
            run.call(0, "close", "close", "/out/a", 1)
        run.write(0, "/out/a", 0.5, MB, i * MB)
    return run


def small_writes(has_it):
    run = Recording()
    for i in range(400 if has_it else 4):
        run.write(0, "/out/a", 0.1, 100 if has_it else 10_000, i * 8192)
    run.write(0, "/out/large", 10, 64 * MB, 0)
    return run


def unaligned(has_it):
    run = Recording()
    run.compute(20)
    for i in range(20):
        run.write(0, "/out/it's", 1, 8192, i * 8192 + (100 if has_it else 0))
    return run


def read_back(has_it):
    run = Recording()
    for i in range(10):
        run.write(0, "/out/a", 1, MB, i * MB)
    for i in range(10):
        run.call(0, "pread", "read", "/out/a" if has_it else "/in/b", 1, MB, i * MB)
    return run


def interleaved(has_it):
    run = Recording(2)
    for i in range(40):
        run.write(i % 2, "/out/a", 1, 4096, (i if has_it else i // 2 + 20 * (i % 2)) * 4096)
    run.write(0, "/out/large", 1, 64 * MB, 0)
    return run


def irregular(has_it):
    run = Recording(2)
    for step in range(6):
        run.compute(100)
        for process in range(2):
            run.write(process, "/out/a", 60 if has_it and step == 3 else 10, MB, (2 * step + process) * MB)
        run.time = dict.fromkeys(run.time, max(run.time.values()))
    return run


def independent(has_it):
    run = Recording(2)
    function = "MPI_File_write_at" if has_it else "MPI_File_write_at_all"
    for i in range(40):
        run.call(i % 2, function, "write", "/out/a", 1, 4096, i * 4096, layer="mpiio")
    run.write(0, "/out/large", 1, 64 * MB, 0)
    return run


def slow_target(has_it):
    run = Recording()
    for i in range(8):
        for piece in range(4):
            slow = i == 5 and (has_it or piece == 2)  # one slow call is chance
            run.write(0, f"/out/part{i}", 30 if slow else 2, MB, piece * MB)
    return run


PROGRAMS = (file_per_process, metadata_storm, small_writes, unaligned, read_back, interleaved, irregular, independent, slow_target)


@pytest.mark.parametrize(("code", "program"), list(zip(RULES, PROGRAMS, strict=True)), ids=list(RULES))
def test_a_finding_and_its_twin(code, program):
    [found] = [one for one in found_in(program(True)) if one.code == code]
    assert found.seconds > 0
    assert found.ranks
    assert code not in [one.code for one in found_in(program(False))]


@pytest.mark.parametrize(("code", "program"), list(zip(RULES, PROGRAMS, strict=True)), ids=list(RULES))
def test_the_query_of_a_finding_shows_rows(code, program):
    run = Run(program(True))
    [found] = [one for one in find(Facts(run)) if one.code == code]
    assert run.database.execute(found.query).fetchall()


def test_seconds_at_stake_are_those_beyond_what_large_writes_take():
    [found] = [one for one in found_in(small_writes(True)) if one.code == "I3"]
    rate = 64 * MB / 10e-3
    assert found.seconds == pytest.approx(400 * 0.1e-3 - 40_000 / rate)
    assert "400 writes of 100 bytes (typically) into /out/a" in found.evidence


def test_severity_is_the_share_of_the_time():
    assert [severity_of(seconds, 100) for seconds in (0.1, 0.2, 2, 10, 100)] == [None, "low", "medium", "high", "high"]
    assert severity_of(1, 0) is None
    assert severity_of(0.0009, 0.001) is None
