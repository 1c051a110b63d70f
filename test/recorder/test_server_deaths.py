"""Recordings through a server of the node: whatever dies, is stopped or damaged, nothing is lost, or the loss is told."""

import json
import os
import struct
import threading
import time
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest
from damaris.raw import CHUNK, Pool
from recorded import FLAVOUR, LIMIT_S, PROGRAMS, record
from served import expected, pools, raw, settled, writes
from test_process import CASES, STATUS


def is_closed(pool):
    """Whether its server has given up."""
    with pool.open("rb") as file:
        return struct.unpack_from("<I", file.read(64), 40) != (0,)


mpi = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")


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


def test_chunks_that_a_process_saves_for_a_dead_server_are_used_again(tmp_path):
    served = record([PROGRAMS / "recorded_process", "server_leaves"], tmp_path, options=["--server", "--chunks", "1"])
    assert served.status == 0, served.err
    assert served.written()["much"] == 5 * 75_000
    settled(served)


def test_the_server_and_the_process_are_killed(tmp_path):
    served = record([PROGRAMS / "recorded_many_alone", "60000", "both killed"], tmp_path, options=["--server"])
    assert served.status == -9 and len(pools(served)) == 1
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]
    settled(served)
    assert any(name.endswith(".pool") for name in raw(served))
    (served.recording / "store/store.json").unlink()  # the raw files have it all
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]


def test_a_server_is_killed_between_storing_chunks_and_freeing_them(tmp_path):
    served = record([PROGRAMS / "recorded_many_alone", "60000", "both killed"], tmp_path, options=["--server"])
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]
    [pool] = (served.recording / "raw").glob("*.pool")
    chunks = bytearray(pool.read_bytes())
    for at in range(0, len(chunks), CHUNK):  # as the server does: the log has no empty slots
        chunks[at + 12 : at + 16] = (-(-len(chunks[at : at + CHUNK].rstrip(b"\0")) // 32) * 32).to_bytes(4, "little")
    pool.write_bytes(chunks)
    assert writes(served) == [(None, *expected(1, 60000)[0][1:])]
    settled(served)


def test_chunks_that_no_disk_takes_stay_when_the_job_goes_on(tmp_path):
    environment = {**os.environ, "PMIX_NAMESPACE": "one job", "DAMARIS_RECORDING_WAIT_MS": "50"}
    command = [PROGRAMS / "recorded_many_alone", "200000", "none"]
    refused = record(command, tmp_path, options=["--server"], env=environment, preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (4 << 20, 4 << 20)))
    assert refused.status == 0
    [pool] = pools(refused)
    until = time.monotonic() + LIMIT_S
    while not is_closed(pool) or Pool(pool).is_in_use():  # what it has left is taken out of the memory when it is gone
        assert time.monotonic() < until
        time.sleep(0.01)
    served = record(command, tmp_path, options=["--server"], env=environment)
    assert served.one("select count(*) from calls where function = 'pwrite'") == 400_000
    settled(served)


def test_pools_of_several_servers_that_were_killed_are_all_kept(tmp_path):
    environment = {**os.environ, "PMIX_NAMESPACE": "one job"}
    for times in (1, 2):
        served = record([PROGRAMS / "recorded_many_alone", "10000", "both killed"], tmp_path, options=["--server"], env=environment)
        assert served.one("select count(*) from calls where function = 'pwrite'") == times * 10_000
    settled(served)


def test_who_comes_while_a_server_ends_waits_until_its_files_are_whole(tmp_path):
    environment = {**os.environ, "PMIX_NAMESPACE": "one job"}
    command = [PROGRAMS / "recorded_many_alone", "1000", "none"]
    first = record(command, tmp_path, options=["--server"], env=environment)
    settled(first)
    # Its server once more, as it has closed the pool and still writes.
    pool = Path("/dev/shm/damaris-recording-" + json.loads((first.recording / "recording.json").read_text())["id"])
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    with pool.open("wb") as file:
        file.write(struct.pack("<8sIIiIQQIIII", b"DCTPOOL\0", 1, 1, os.getpid(), 5000, started, 0, 1, 0, 0, 0))
        file.truncate(2 * CHUNK)
    served = []
    second = threading.Thread(target=lambda: served.append(record(command, tmp_path, options=["--server"], env=environment)))
    with pool.open("r+b", buffering=0) as file:
        second.start()
        until = time.monotonic() + 60
        while os.pread(file.fileno(), 4, 4096) == bytes(4) and time.monotonic() < until:
            time.sleep(0.01)
        assert os.pread(file.fileno(), 4, 4096) != bytes(4)
        time.sleep(0.5)  # it waits
        assert second.is_alive()
        assert pool.stat().st_ino == os.fstat(file.fileno()).st_ino
        pool.unlink()
        os.pwrite(file.fileno(), struct.pack("<I", 1), 44)
    second.join()
    assert served[0].status == 0 and served[0].one("select count(*) from calls where function = 'pwrite'") == 2 * 1000
    assert not any(name.endswith(".trace") for name in raw(served[0]))
    settled(served[0])


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
