"""bench phases as its users see it: the JSON, what every way stores, what is synced or slowed down, how it ends. Never what it measures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "phases" / "bench_phases.py"
BUILD = Path(os.environ["DAMARIS_BUILD_DIR"])
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/phases", "bench/cm1", "bench/page", "examples/cm1")]

from bench_phases import BUSY, WAYS, busy, library_of  # noqa: E402
from read_cm1 import read_output, same_bits  # noqa: E402
from run_cm1 import find_program, launch, prepare  # noqa: E402
from runs import QUICK, STORM, with_outputs  # noqa: E402
from slow_storage import storage  # noqa: E402

HDF5_WAYS = [way for way, by in WAYS.items() if by == "ways_hdf5"]
ADIOS2_WAYS = [way for way, by in WAYS.items() if by == "ways_adios2"]
needs_adios2 = pytest.mark.skipif(not library_of("adios2").exists(), reason="ADIOS2 was not found when this was configured")


def bench(folder, *arguments, **more):
    return subprocess.run([sys.executable, "-B", BENCH, "--quick", "--folder", folder, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=500, **more)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A quick run with three storages: its output, its JSON."""
    folder = tmp_path_factory.mktemp("several")
    done = bench(folder, "--storage", "disk,cache,5MB,disk", "--ways", "file-per-process,collective,damaris", "--json",
                 folder / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in folder.iterdir()] == ["report.json"]
    return done.stdout, json.loads((folder / "report.json").read_text())


def test_each_storage_has_all_ways_and_rows_that_name_it(several):
    output, report = several
    assert {"processor", "cores", "memory_bytes", "system", "damaris"} <= report["machine"].keys() and report["quick"]
    assert [(one["storage"], one["way"]) for one in report["details"] if one["way"] != "copy"] == [
        (name, way) for name in ("disk", "cache", "5MB/s") for way in ("file-per-process", "collective", "damaris")]
    assert [(one["name"], one["better"], one["good"], one["aim"]) for one in report["rows"]] == [
        (name + suffix, *more) for suffix in (", storage disk", "", ", storage 5MB/s") for name, *more in (
            ("write phase seen by the simulation, median: file per process / damaris", "higher", 10, 30),
            ("write phase seen by the simulation, median: collective / damaris", "higher", 30, 100),
            ("slowest rank of a write phase over its own memcpy", "lower", 10, 3))]
    assert all(len(line) <= 80 for line in output.splitlines()), output
    for one in report["details"]:
        ranks = 4 - (one["way"] in ("damaris", "copy"))
        assert all(np.shape(run["ranks_s"]) == (3, ranks) and np.min(run["ranks_s"]) > 0 for run in one["runs"])


def test_the_slow_storage_holds_up_who_writes_to_it_and_not_the_clients_of_damaris(several):
    output, report = several
    runs = {one["way"]: one["runs"][0] for one in report["details"] if one["storage"] == "5MB/s"}
    for way in ("file-per-process", "collective"):
        assert sum(runs[way]["writes_s"]) >= 0.9 * runs[way]["stored_bytes"] / 5e6, way
    assert sum(runs["damaris"]["server_s"]) >= 0.9 * runs["damaris"]["stored_bytes"] / 5e6
    # An output takes the server 0.2 s, and the next one comes before it, unless others use the cores.
    is_busy = np.median(runs["damaris"]["server_s"]) > BUSY * runs["damaris"]["compute_s"] / len(runs["damaris"]["writes_s"])
    assert ("damaris, storage 5MB/s: the dedicated core writes an output in" in " ".join(output.split())) == is_busy


@pytest.mark.parametrize("compute_s, said", [(2.1, 1), (2.3, 0)])
def test_a_dedicated_core_that_hardly_keeps_up_is_told(compute_s, said):
    """With 0.9 of the time between two outputs as the limit."""
    ours = dict(server_s=[0.1, 1.0, 1.0], compute_s=compute_s, writes_s=[0.01, 0.01])
    theirs = dict(server_s=[], compute_s=compute_s, writes_s=[0.5, 0.5])
    told = list(busy([dict(way="damaris", storage="5MB/s", runs=[ours]), dict(way="collective", storage="5MB/s", runs=[theirs])]))
    assert len(told) == said and all(one.startswith("damaris, storage 5MB/s: the dedicated core writes an output in 1 s") for one in told)


def one_run(folder, way, ranks=4, **environment):
    """Two outputs of the mini-app by itself, in folder/run."""
    find_program()
    library = library_of(way) if WAYS[way].startswith("ways") else None
    prepare(folder / "run", {**STORM, **QUICK, **with_outputs(1), "backend": "library" if library else WAYS[way],
                             **({"config": str(library)} if library else {})})
    done = launch(folder / "run", ranks, limit_s=400, environment=dict(environment, DAMARIS_BENCH_WAY=way, DAMARIS_BENCH_GROUPS="2"))
    assert done.returncode == 0, done.output
    return folder / "run"


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return read_output(one_run(tmp_path_factory.mktemp("reference"), "file-per-process", ranks=1), "fpp", 2)


@pytest.mark.parametrize("way", HDF5_WAYS)
def test_every_way_of_hdf5_stores_every_value(tmp_path, reference, way):
    folder = one_run(tmp_path, way)
    found = read_output(folder, "fpp", 2)
    assert found.keys() == reference.keys() and all(same_bits(found[name], reference[name]) for name in reference)
    assert len(list(folder.glob("cm1out_000002_*.h5"))) == {"grouped": 2, "one-writer": 2, "independent": 1}.get(way, 4)


@needs_adios2
@pytest.mark.parametrize("way", ADIOS2_WAYS)
def test_every_way_of_adios2_stores_every_value(tmp_path, reference, way):
    adios2 = pytest.importorskip("adios2", reason="there is no Python package of ADIOS2 to read with")
    folder = one_run(tmp_path, way)
    for name, values in reference.items():
        whole = np.full(values.shape, np.nan, np.float32)
        for path in folder.glob("cm1out*.bp"):
            with adios2.FileReader(str(path)) as file:
                assert file.num_steps() == 2
                for block in file.engine.blocks_info(name, 1):
                    start, count = ([int(number) for number in block[key].split(",")] for key in ("Start", "Count"))
                    place = tuple(slice(first, first + length) for first, length in zip(start, count))
                    assert np.isnan(whole[place]).all(), path
                    whole[place] = file.read(name, start=start, count=count, step_selection=[1, 1]).reshape(count)
        assert same_bits(whole, values), name


@pytest.mark.parametrize("way", ["file-per-process", "collective", "grouped", "one-writer", pytest.param("adios2", marks=needs_adios2)])
def test_with_storage_disk_every_file_is_synced(tmp_path, way):
    with storage(tmp_path, 0, sync=True) as slow:
        (tmp_path / "disk.so").symlink_to(BUILD / "test" / "lib" / "damaris_test_faulty_disk.so")
        (tmp_path / "rules").touch()
        folder = one_run(tmp_path, way, **dict(slow.environment, LD_PRELOAD=f"{slow.environment['LD_PRELOAD']}:../disk.so",
                                               DAMARIS_FAULT_RULES=str(tmp_path / "rules"), DAMARIS_FAULT_LOG=str(tmp_path / "log"),
                                               DAMARIS_FAULT_UNDER=str(tmp_path / "run")))
    synced = {line.split(maxsplit=1)[1] for line in (tmp_path / "log").read_text().splitlines() if line.startswith("fsync ")}
    files = [path for path in [*folder.glob("cm1out*.h5"), *folder.glob("cm1out*.bp/data.*")]]
    assert files and {str(path) for path in files} <= synced


def test_a_run_that_the_slow_storage_does_not_see_is_an_error(tmp_path):
    # Its library is there, and empty.
    build = tmp_path / "build"
    (build / "bench").mkdir(parents=True)
    for name in ("lib", "examples"):
        (build / name).symlink_to(BUILD / name)
    (build / "bench" / "damaris_bench_slow_storage.so").symlink_to(BUILD / "test" / "lib" / "damaris_test_faulty_disk.so")
    (tmp_path / "runs").mkdir()
    done = bench(tmp_path / "runs", "--ways", "file-per-process", "--storage", "100MB", env=dict(os.environ, DAMARIS_BUILD_DIR=str(build)))
    assert done.returncode == 1 and "passed the slow storage" in done.stderr and "use --storage cache or disk" in done.stderr
    # Nor are the libraries of further ways, which are left out or refused.
    done = bench(tmp_path / "runs", "--ways", "adios2", env=dict(os.environ, DAMARIS_BUILD_DIR=str(build)))
    assert done.returncode == 1 and "there is no way adios2" in done.stderr and "./dev setup" in done.stderr


def test_asked_to_stop_it_leaves_no_folder_no_memory_and_no_process(tmp_path):
    # Which processes are left is looked at by scripts/bounded.
    with subprocess.Popen([sys.executable, "-B", BENCH, "--ways", "damaris", "--folder", tmp_path, "--outputs", "1000"],
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(tmp_path.glob("*/place/run/cm1_stats.csv")):
            time.sleep(0.05)
        # A killed server leaves its region only at some moments: this one stands for it.
        Path(f"/dev/shm/damaris.{os.geteuid()}.bench-{process.pid}.cm1.0.n0.s0").touch()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=200)
    assert process.returncode == 130 and "nothing is left running" in said
    assert not list(tmp_path.iterdir())
    assert not list(Path("/dev/shm").glob(f"damaris.*.bench-{process.pid}.*"))


@pytest.mark.parametrize("arguments, sentence", [
    (["--ways", "nonsense"], "is none of: file-per-process,"), (["--storage", "fast"], "such as 100MB"), (["--repeats", "0"], "1 or more"),
    (["--ranks", "1"], "are too few"), (["--folder", "/nonexistent"], "there is no folder"),
    (["--json", "/nonexistent/report.json"], "there is no folder")])
def test_wrong_usage_ends_with_2_and_says_what_is_allowed(tmp_path, arguments, sentence):
    done = bench(tmp_path, *arguments)
    assert done.returncode == 2 and sentence in re.sub(r"\s+", " ", done.stderr)
