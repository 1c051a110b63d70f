"""Every wrapped function does the same with and without the recorder: result, errno and what is in the files. A program that calls them all by
each of their names prints results; a function of a probe table that it does not call fails the test."""

import os
import tomllib
from pathlib import Path

import pytest
from recorded import BUILD, FLAVOUR, PROGRAMS, Run, both, launched, run

SOURCE = Path(os.environ["DAMARIS_SOURCE_DIR"])
TABLES = SOURCE / "src/recorder/probes"


def names(layer):
    """Of its functions, each with its other names."""
    table = tomllib.loads((TABLES / f"{layer}.toml").read_text())
    found = {}
    for line in table["calls"]:
        declaration, _, keys = line.partition("|")
        name = declaration.partition("(")[0].split()[-1].lstrip("*")
        also = [other for key in keys.split() if key.startswith("also=") for other in key[5:].split(",")]
        found[name] = {prefix + one for one in (name, *also) for prefix in ("", table.get("prefix", ""))}
    return found


def called(run):
    return {line.split()[0] for path in run.folder.glob("results*") for line in path.read_text().splitlines()}


def same_files(plain, recorded, random=()):
    """random: parts of names of files that differ from run to run."""
    files = [{path.name: path.read_bytes() for path in one.folder.iterdir() if not any(part in path.name for part in random)} for one in (plain, recorded)]
    for name in sorted(files[0].keys() | files[1].keys()):
        assert files[0].get(name) == files[1].get(name), f"{name} differs"


def all_called(layer, runs):
    missing = set().union(*names(layer).values()) - set().union(*map(called, runs))
    assert not missing, f"no call of {sorted(missing)}: add one to the program"
    seen = set()
    for run in runs:
        seen |= {name for (name,) in run.tables.query(f"select distinct function from calls where layer = '{layer}'").fetchall()}
    assert seen == names(layer).keys() - {"pclose"}  # calls on pipes are not recorded


def test_posix_and_stdio(tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_calls"], tmp_path)
    same_files(plain, recorded)
    all_called("posix", [recorded])
    all_called("stdio", [recorded])


@pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")
def test_mpi_and_mpiio(tmp_path):
    runs = []
    for way in range(4):
        (place := tmp_path / str(way)).mkdir()
        plain, recorded = both([PROGRAMS / "recorded_calls_mpi", str(way)], place, ranks=2)
        same_files(plain, recorded)
        runs.append(recorded)
        assert recorded.one("select max(bytes) from calls where function = 'MPI_Send' and error > 0") == 0
    preloaded = ["env", f"LD_PRELOAD={BUILD}/lib/libdamaris_recorder.so", "DAMARIS_RECORDING=/nowhere", PROGRAMS / "recorded_calls_mpi", "3"]
    (folder := tmp_path / "without_file").mkdir()
    assert run(launched(preloaded, 2), folder).status == 0
    same_files(plain, Run(0, b"", b"", folder))
    all_called("mpi", runs)
    all_called("mpiio", runs)


@pytest.mark.skipif(not (PROGRAMS / "recorded_calls_libraries").exists(), reason="SKIP: this build has no HDF5")
def test_hdf5_and_damaris(tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_calls_libraries", SOURCE / "test/recorder/calls.xml"], tmp_path, env={**os.environ, "DAMARIS_LOG": "off"})
    same_files(plain, recorded, random=("by_damaris",))
    all_called("hdf5", [recorded])
    all_called("damaris", [recorded])
    rows = recorded.tables.query("""select c.function, c.bytes, c."offset" from calls c join objects o on o.id = c.object
        where o.kind = 'log' and o.name = 'events' and c.error is null and c.kind = 'write' order by c.begin""").fetchall()
    assert rows == [("dc_append", 32, None), ("dc_append_to", 16, 32), ("dc_append_list", 32, 48), ("dc_append_publish", 24, 80)]
