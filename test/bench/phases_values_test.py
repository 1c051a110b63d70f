"""What each way of bench phases stores: every value, read back from its files."""

import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["DAMARIS_BUILD_DIR"]) / "bench" / "damaris-bench-phases"
SLICE = ROOT / "test" / "data" / "cm1_slice.h5"
WAYS = ["file-per-process", "file-per-process-deflate", "file-per-process-core", "collective", "grouped", "independent", "one-writer",
        "adios2", "adios2-async", "damaris", "damaris-deflate"]
BUILT = subprocess.run([PROGRAM, "--ways"], capture_output=True, text=True, check=True).stdout.split()
RANKS, PHASES = 4, 2
FIELDS = [f"field{number}" for number in range(8)]


def one_run(folder, way, *options):
    """The program by itself, which leaves its files; returns {(phase, field): the whole array}."""
    if way not in BUILT:
        pytest.skip(f"way {way} is not built in: ADIOS2 was not found when this was configured")
    (folder / "data").mkdir()
    (folder / "results").mkdir()
    done = subprocess.run([ROOT / "scripts" / "mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-n", str(RANKS),
                           PROGRAM, way, "--phases", str(PHASES), "--folder", folder / "data",
                           "--results", folder / "results", *map(str, options)],
                          capture_output=True, text=True, timeout=100, env=dict(os.environ, DAMARIS_JOB=f"test-{os.getpid()}"))
    assert done.returncode == 0, done.stdout + done.stderr
    join = joined_steps if way.startswith("adios2") else joined
    return {(phase, field): join(folder / "data", phase, field) for phase in range(PHASES) for field in FIELDS}


def joined(folder, phase, field):
    """The global array of all files of a phase, by their attribute `position`; each row stands in one file."""
    parts = {}
    for path in [*folder.glob(f"phases.p{phase}.*.h5"), *folder.glob(f"phases.*.i{phase}.h5")]:
        with h5py.File(path) as file:
            _, row, column = file[field].attrs["position"]
            assert column == 0 and row not in parts, path
            parts[row] = file[field][()]
    assert list(np.cumsum([0] + [parts[row].shape[1] for row in sorted(parts)])[:-1]) == sorted(parts)
    return np.concatenate([parts[row] for row in sorted(parts)], axis=1)


def joined_steps(folder, phase, field):
    """The same of all BP5 outputs, which have a step for each phase and tell the place of their blocks themselves."""
    adios2 = pytest.importorskip("adios2", reason="there is no Python package of ADIOS2 to read with")
    whole = None
    for path in sorted(folder.glob("phases*.bp")):
        with adios2.FileReader(str(path)) as file:
            assert file.num_steps() == PHASES
            variable = file.inquire_variable(field)
            for block in file.engine.blocks_info(field, phase):
                start, count = (tuple(int(number) for number in block[key].split(",")) for key in ("Start", "Count"))
                place = tuple(slice(first, first + length) for first, length in zip(start, count))
                whole = np.full(variable.shape(), np.nan, np.float32) if whole is None else whole
                assert np.isnan(whole[place]).all(), path
                whole[place] = file.read(field, start=list(start), count=list(count), step_selection=[phase, 1]).reshape(count)
    assert np.isfinite(whole).all()
    return whole


def repeated(phase, field):
    """What --fields asks for: the groups of the file by phase, the datasets by field, side by side."""
    with h5py.File(SLICE) as file:
        group = file[sorted(file)[phase % len(file)]]
        pattern = group[sorted(group)[FIELDS.index(field) % len(group)]][()]
    return lambda shape: pattern[np.ix_(*(np.arange(extent) % length for extent, length in zip(shape, pattern.shape)))]


def test_every_way_is_known_and_those_that_need_no_more_are_built():
    assert [way for way in WAYS if way in BUILT] == BUILT
    assert set(WAYS) - set(BUILT) <= {"adios2", "adios2-async"}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_stores_every_value_of_a_file_with_all_parameters_set(tmp_path, way):
    # 37 rows: no way divides them evenly.
    found = one_run(tmp_path, way, "--bytes", 37 * 131072 // RANKS, "--fields", SLICE, "--transfer", "16KiB", "--chunk", "32KiB",
                    "--stripe", "64KiB", "--groups", 2)
    for (phase, field), values in found.items():
        assert values.shape == (32, 37, 128)
        assert np.array_equal(values, repeated(phase, field)(values.shape)), (phase, field)


def test_generated_values_do_not_depend_on_how_they_are_divided(tmp_path):
    found = []
    for way in ("file-per-process", "damaris"):
        (tmp_path / way).mkdir()
        found.append(one_run(tmp_path / way, way, "--bytes", "256KiB", "--chunk", "1MiB"))
    theirs, ours = found
    assert all(np.array_equal(theirs[place], ours[place]) for place in theirs)
    assert len({values.tobytes() for values in ours.values()}) == PHASES * len(FIELDS)
    assert all(np.isfinite(values).all() and np.unique(values).size > values.size / 4 for values in ours.values())
