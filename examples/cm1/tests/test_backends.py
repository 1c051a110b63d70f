"""Whichever way the output takes, the files hold the same bits under the same names."""

import h5py
import pytest
from read_cm1 import files_of, read_output, same_bits
from small_storm import SMALL_STORM, run

OUTPUTS = dict(SMALL_STORM, timax=120.0, tapfrq=60.0)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """File per process on one rank, so that no joining can hide an error."""
    folder = tmp_path_factory.mktemp("reference")
    run(folder, 1, dict(OUTPUTS, backend="fpp"))
    return [read_output(folder, "fpp", output) for output in (1, 2, 3)]


def assert_equal(reference, folder, backend):
    for output, expected in enumerate(reference, start=1):
        written = read_output(folder, backend, output)
        assert written.keys() == expected.keys() and len(written) >= 15
        for name, array in expected.items():
            assert same_bits(array, written[name]), (output, name)


def test_staggered_shapes_are_kept(reference):
    shapes = {name.split("/")[1]: array.shape for name, array in reference[0].items()}
    assert shapes["u"] == (20, 26, 31) and shapes["v"] == (20, 27, 30) and shapes["w"] == (21, 26, 30)
    assert shapes["nm"] == (21, 26, 30) and shapes["thpert"] == (20, 26, 30)


def test_one_shared_file_holds_the_same_bits(reference, tmp_path):
    run(tmp_path, 4, dict(OUTPUTS, backend="collective"))
    assert_equal(reference, tmp_path, "collective")
    assert len(list(tmp_path.glob("*.h5"))) == 3


# Ranks of each virtual node, servers on each, and the clients of each server.
@pytest.mark.parametrize("nodes, servers, clients", [
    ((3,), 1, (2,)), ((3, 3), 1, (2,)), ((3, 4), 1, (2, 3)), ((6,), 2, (2, 2)), ((4, 5), 2, (1, 1, 2, 1))])
def test_dedicated_cores_write_the_same_bits(reference, tmp_path, nodes, servers, clients):
    settings = dict(OUTPUTS, backend="damaris", ppnode=clients)
    run(tmp_path, sum(nodes), settings, nodes=",".join(map(str, nodes)), servers=servers)
    assert_equal(reference, tmp_path, "damaris")
    for output in (1, 2, 3):
        files = files_of(tmp_path, "damaris", output)
        assert len(files) == servers * len(nodes)
        assert all(holds_joined_blocks(path) for path in files)


def holds_joined_blocks(path):
    with h5py.File(path) as h5file:
        return all(isinstance(member, h5py.Dataset) for group in h5file.values() for member in group.values())


def test_the_files_of_a_dedicated_core_carry_units_and_time(tmp_path):
    run(tmp_path, 3, dict(OUTPUTS, backend="damaris"), nodes="3")
    [path] = files_of(tmp_path, "damaris", 2)
    with h5py.File(path) as h5file:
        assert as_text(h5file["fields/thpert"].attrs["units"]) == "K"
        assert as_text(h5file["diagnostics/prs"].attrs["units"]) == "Pa"
        assert h5file.attrs["time"] == 60.0


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def test_no_back_end_writes_no_file(tmp_path):
    run(tmp_path, 2, dict(OUTPUTS, backend="none"))
    assert not list(tmp_path.glob("*.h5"))
