"""h5py, xarray and h5dump read what the plugin writes; asserts on values, units and attributes.

DAMARIS_WRITE_SAMPLE is the program of write_sample.cpp.
"""
import os
import subprocess

import h5py
import numpy as np
import pytest
import xarray

NAME = "sample.node7.s3.i42.h5"
# theta as write_sample.cpp computes it: 100 z + 10 y + x
THETA = np.fromfunction(lambda z, y, x: 100 * z + 10 * y + x, (2, 3, 6), dtype="f4")


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    subprocess.run([os.environ["DAMARIS_WRITE_SAMPLE"]], cwd=folder, check=True)
    assert [entry.name for entry in folder.glob("*.i*.h5")] == [NAME]
    return folder / NAME


def test_h5py_reads_a_joined_variable_with_its_attributes(sample):
    with h5py.File(sample) as file:
        theta = file["fields/theta"]
        assert theta.dtype == np.float32
        np.testing.assert_array_equal(theta[...], THETA)
        assert theta.compression == "gzip" and theta.compression_opts == 1 and theta.shuffle
        attributes = dict(theta.attrs)
        assert attributes["units"] == "K"
        assert attributes["long_name"] == "potential temperature \u03b8"
        assert attributes["layout"] == "tile"
        assert attributes["iteration"] == 42
        assert attributes["time"] == 7.5
        assert attributes["position"].tolist() == [0, 6, 0]
        assert attributes["global_extents"].tolist() == [2, 12, 6]
        assert attributes["sources"].tolist() == [0, 1]
        assert attributes["blocks"].tolist() == [0, 0]
        assert attributes["part_positions"].reshape(-1, theta.ndim).tolist() == [[0, 6, 0], [0, 6, 3]]
        assert attributes["part_extents"].reshape(-1, theta.ndim).tolist() == [[2, 3, 3], [2, 3, 3]]


def test_h5py_reads_datasets_by_source_stacks_and_boxes(sample):
    with h5py.File(sample) as file:
        assert sorted(file) == ["corner", "count", "empty", "fields", "label", "many", "number", "particles", "reduced"]
        assert sorted(file["reduced"]) == ["half", "rounded"]
        assert sorted(file["fields/rain"]) == ["0", "1"]
        np.testing.assert_array_equal(file["fields/rain/1"][...], [[4.5], [5.5]])
        assert file["fields/rain/1"].attrs["source"] == 1
        assert file["fields/rain/1"].attrs["block"] == 0
        assert file["count"][...].tolist() == [[1000], [1001], [1002]]
        assert file["count"].attrs["sources"].tolist() == [0, 1, 2] and file["count"].attrs["stacked"] == 1
        np.testing.assert_array_equal(file["corner/box0"][...], [[1, 2, 5, 6], [3, 4, 7, 8]])
        np.testing.assert_array_equal(file["corner/box1"][...], [[9, 10], [11, 12]])
        assert file["corner/box1"].attrs["position"].tolist() == [2, 0]


def test_h5py_reads_compounds_and_characters(sample):
    with h5py.File(sample) as file:
        particles = file["particles/all/1"][...]
        assert particles.dtype.names == ("id", "velocity", "kind")
        assert particles["id"].tolist() == [1, -2]
        assert particles["velocity"].tolist() == [[1, 2, 3], [4, 5, 6]]
        assert particles["kind"].tolist() == [b"a", b"b"]
        assert file["label/0"][...].tobytes() == b"storm"


def test_h5py_reads_the_attributes_of_the_file(sample):
    with h5py.File(sample) as file:
        attributes = dict(file.attrs)
    assert {key: attributes[key] for key in ("format", "simulation", "host")} == {
        "format": "damaris-hdf5", "simulation": "storm", "host": "node7"}
    assert (attributes["format_version"], attributes["iteration"], attributes["time"]) == (2, 42, 7.5)
    assert (attributes["server"], attributes["servers"]) == (3, 4)
    assert attributes["clients"].tolist() == [0, 1, 2, 3]
    assert attributes["absent_clients"].size == 0 and attributes["missing_clients"].size == 0


def test_xarray_opens_a_group_with_values_units_and_attributes(sample):
    with xarray.open_dataset(sample, engine="h5netcdf", phony_dims="sort", group="fields") as fields:
        np.testing.assert_array_equal(fields["theta"].values, THETA)
        assert fields["theta"].shape == (2, 3, 6)
        assert fields["theta"].attrs["units"] == "K"
        assert fields["theta"].attrs["long_name"] == "potential temperature \u03b8"
        assert fields["theta"].attrs["iteration"] == 42
        assert list(fields["theta"].attrs["position"]) == [0, 6, 0]
    with xarray.open_dataset(sample, engine="h5netcdf", phony_dims="sort", group="fields/rain") as rain:
        np.testing.assert_array_equal(rain["0"].values, [[0.5, 1.5], [2.5, 3.5]])
        assert rain["0"].attrs["units"] == "kg m-2"


def test_xarray_opens_the_root_of_the_file(sample):
    with xarray.open_dataset(sample, engine="h5netcdf", phony_dims="sort") as root:
        assert root.attrs["simulation"] == "storm"
        assert root.attrs["iteration"] == 42


def h5dump(*arguments):
    return subprocess.run(["h5dump", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_h5dump_prints_values_types_and_attributes(sample):
    theta = h5dump("-d", "/fields/theta", sample)
    assert "H5T_IEEE_F32LE" in theta and "SIMPLE { ( 2, 3, 6 ) / ( 2, 3, 6 ) }" in theta
    assert "(1,2,0): 120, 121, 122, 123, 124, 125" in theta
    assert 'ATTRIBUTE "units"' in theta and '"K"' in theta
    particles = h5dump("-d", "/particles/all/1", sample)
    assert "H5T_COMPOUND" in particles and "H5T_ARRAY { [3] H5T_IEEE_F64LE }" in particles
    assert '"s", "t", "o", "r", "m"' in h5dump("-d", "/label/0", sample)


def test_h5dump_reads_the_whole_file_without_a_complaint(sample):
    whole = subprocess.run(["h5dump", str(sample)], check=True, capture_output=True, text=True)
    assert whole.stderr == ""
    assert 'ATTRIBUTE "absent_clients"' in whole.stdout
