"""bench phases --storage: what is synced, what passes the slow storage, and how it is told. Never how long it takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["DAMARIS_BUILD_DIR"])
BUILT = subprocess.run([BUILD / "bench" / "damaris-bench-phases", "--ways"], capture_output=True, text=True, check=True).stdout.split()
WAYS = ["file-per-process", "file-per-process-deflate", "file-per-process-core", "collective", "grouped", "independent", "one-writer"]
RANKS, PHASES = 4, 2


def one_run(folder, way, rules, *options):
    """The program by itself on a disk that fails by rules; returns it and the calls "fsync PATH" that were made."""
    (folder / "data").mkdir()
    (folder / "results").mkdir()
    (folder / "rules").write_text(rules)
    (folder / "disk.so").symlink_to(BUILD / "test" / "lib" / "damaris_test_faulty_disk.so")  # LD_PRELOAD takes no path with a space
    environment = dict(os.environ, LD_PRELOAD="./disk.so", DAMARIS_FAULT_RULES=str(folder / "rules"), DAMARIS_FAULT_LOG=str(folder / "log"),
                       DAMARIS_FAULT_UNDER=str(folder / "data"))
    done = subprocess.run([ROOT / "scripts" / "mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-n", str(RANKS),
                           BUILD / "bench" / "damaris-bench-phases", way, "--phases", str(PHASES), "--bytes", "256KiB", "--chunk", "1MiB",
                           "--groups", "2", "--folder", folder / "data", "--results", folder / "results", *options],
                          cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    return done, [line for line in (folder / "log").read_text().splitlines() if line.startswith("fsync ")]


@pytest.mark.parametrize("way", WAYS)
def test_with_sync_every_file_is_synced_once_by_one_process(tmp_path, way):
    done, synced = one_run(tmp_path, way, "", "--sync")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(synced) == sorted(f"fsync {path}" for path in (tmp_path / "data").glob("*.h5"))


def test_with_sync_a_step_of_adios2_is_synced_as_a_whole_and_an_asynchronous_run_at_its_end(tmp_path):
    if "adios2" not in BUILT:
        pytest.skip("way adios2 is not built in: ADIOS2 was not found when this was configured")
    for way, times in (("adios2", PHASES), ("adios2-async", 1)):
        (tmp_path / way).mkdir()
        done, synced = one_run(tmp_path / way, way, "", "--sync")
        assert done.returncode == 0, done.stdout + done.stderr
        data = list((tmp_path / way / "data").glob("phases*.bp/data.*"))
        assert data and sorted(line for line in synced if "/data." in line) == sorted(times * [f"fsync {path}" for path in data])
        assert {Path(line.removeprefix("fsync ")).name for line in synced} >= {"data.0", "md.0", "md.idx", "mmd.0"}


def test_without_it_none_is(tmp_path):
    done, synced = one_run(tmp_path, "file-per-process", "")
    assert done.returncode == 0, done.stdout + done.stderr
    assert synced == []


@pytest.mark.parametrize("way", ["file-per-process", "collective"])
def test_a_file_that_cannot_be_synced_ends_the_run_and_is_named(tmp_path, way):
    done, _ = one_run(tmp_path, way, "fsync EIO @.p1.", "--sync")
    assert done.returncode != 0
    reasons = {path.read_text() for path in (tmp_path / "results").glob("rank*.failed")} - {""}  # of a rank that was ended in it
    assert reasons and all(f"cannot sync {tmp_path / 'data' / 'phases.p1.'}" in reason for reason in reasons)


def bench(folder, *arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "bench" / "phases" / "bench_phases.py", "--quick", "--folder", folder,
                           "--ways", "file-per-process,collective,damaris", *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A quick run with three storages: its output, its JSON and its page."""
    folder = tmp_path_factory.mktemp("several")
    done = bench(folder, "--storage", "disk,cache,5MB,disk", "--json", folder / "report.json", "--page", folder / "page.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["page.html", "report.json"]
    return done.stdout, json.loads((folder / "report.json").read_text()), (folder / "page.html").read_text()


def test_each_storage_has_all_ways_and_rows_that_name_it(several):
    output, report, page = several
    ways = ["file-per-process", "collective", "damaris"]
    assert report["settings"]["storage"] == ["disk", "cache", "5MB/s"]
    assert [(detail["storage"], detail["way"]) for detail in report["details"]] == [
        (storage, way) for storage in ("disk", "cache", "5MB/s") for way in ways]
    names = [row["name"] for row in report["rows"]]
    assert names == [f"{name}{storage}" for storage in (", storage disk", "", ", storage 5MB/s")
                     for name in ("write phase seen by the simulation, median: file per process / damaris",
                                  "write phase seen by the simulation, median: collective / damaris",
                                  "slowest rank of a write phase over its own memcpy")]
    assert all(name in page for name in names)
    assert 'alt="Storage"' in page
    assert all(len(line) <= 80 for line in output.splitlines()), output


def test_the_slow_storage_holds_up_who_writes_to_it_and_not_the_clients_of_damaris(several):
    output, report, _ = several
    details = {detail["way"]: detail["runs"][0] for detail in report["details"] if detail["storage"] == "5MB/s"}
    least_s = 0.9 * sum(details["damaris"]["bytes"]) / 5e6
    for way in ("file-per-process", "collective"):
        assert np.min(np.max(details[way]["visible_s"], axis=1)) >= least_s, way
    assert min(details["damaris"]["server"]["write_s"]) >= least_s
    # A phase takes the server 0.2 s, and the next one comes before it.
    assert "damaris, storage 5MB/s: the dedicated core writes a phase in" in output


def test_a_run_that_the_slow_storage_does_not_see_is_an_error(tmp_path):
    # Its library is there, and empty.
    build = tmp_path / "build"
    (build / "bench").mkdir(parents=True)
    (build / "lib").symlink_to(BUILD / "lib")
    (build / "bench" / "damaris-bench-phases").symlink_to(BUILD / "bench" / "damaris-bench-phases")
    (build / "bench" / "damaris_bench_slow_storage.so").symlink_to(BUILD / "test" / "lib" / "damaris_test_faulty_disk.so")
    (tmp_path / "runs").mkdir()
    done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "phases" / "bench_phases.py", "--quick", "--ways", "file-per-process",
                           "--storage", "100MB", "--folder", tmp_path / "runs"], env=dict(os.environ, DAMARIS_BUILD_DIR=str(build)),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1
    assert "passed the slow storage" in done.stderr and "use --storage cache or disk" in done.stderr
