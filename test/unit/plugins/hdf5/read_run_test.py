"""h5py, xarray and VTK read the views over all of a run; asserts on values, labels and times.

DAMARIS_WRITE_RUN is the program of write_run.cpp: three servers, steps 0, 10, 20 and 30 at a quarter of that as time.
"""
import os
import shutil
import subprocess

import h5py
import numpy as np
import pytest
import xarray

STEPS = np.array([0, 10, 20, 30])
TIMES = STEPS / 4
# As write_run.cpp computes them.
THETA = np.fromfunction(lambda t, z, y, x: 10000 * t + 100 * z + 10 * y + x, (4, 2, 6, 5), dtype="f4")
SURFACE = np.fromfunction(lambda t, y, x: 10 * t + 0.5 * y + 0.125 * x, (4, 6, 5))


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    subprocess.run([os.environ["DAMARIS_WRITE_RUN"]], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="session")
def master(written):
    return written / "storm.h5"


def open_group(path, group=None):
    return xarray.open_dataset(path, engine="h5netcdf", group=group)


def test_xarray_gives_labelled_arrays_in_time(master):
    with open_group(master, "fields") as fields:
        theta = fields["theta"]
        assert theta.dims == ("time", "points_z", "points_y", "points_x")
        assert theta.dtype == np.float32
        np.testing.assert_array_equal(theta.values, THETA)
        np.testing.assert_array_equal(theta["time"].values, TIMES)
        np.testing.assert_array_equal(theta["iteration"].values, STEPS)
        assert theta.attrs["units"] == "K"
        assert theta.attrs["long_name"] == "potential temperature"
        assert theta["time"].attrs["long_name"] == "physical time"
        np.testing.assert_array_equal(theta.sel(time=5.0).values, THETA[2])


def test_values_that_equal_netcdfs_fill_value_stay_values(master):
    with open_group(master, "full") as full:
        for name, value in {"int8": -127, "int16": -32767, "uint8": 255, "uint16": 65535}.items():
            assert full[name].dtype == name
            np.testing.assert_array_equal(full[name].values, np.full((4, 6), value))


def test_a_variable_of_every_second_iteration_has_a_time_of_its_own(master):
    with open_group(master, "fields") as fields:
        rain = fields["rain"]
        assert rain.dims == ("time_1", "surface_y", "surface_x")
        np.testing.assert_array_equal(rain["time_1"].values, TIMES[::2])
        np.testing.assert_array_equal(rain["iteration_1"].values, STEPS[::2])
        np.testing.assert_array_equal(rain.values, SURFACE[::2])
        assert rain.attrs["units"] == "mm"


def test_xarray_decodes_16_bits_with_one_scale(master):
    with open_group(master, "fields") as fields:
        np.testing.assert_array_equal(fields["wind"].values, SURFACE)
    with h5py.File(master) as file:
        assert file["fields/wind"].dtype == np.float16
        assert file["fields/wind"].attrs["scale_factor"] == 0.125
        assert file["fields/wind"].attrs["add_offset"] == 10


def test_what_makes_no_array_is_named(master):
    with h5py.File(master) as file:
        reasons = dict(line.split(": ", 1) for line in file.attrs["not_shown"])
        assert sorted(reasons) == ["count", "fields/fitted", "particles/all"]
        assert "different scales" in reasons["fields/fitted"]
        assert "without a position" in reasons["particles/all"]
        assert "fitted" not in file["fields"] and "particles" not in file
    with h5py.File(master.with_name("storm.node7.s1.i20.h5")) as one:
        assert one["particles/all/2"][...].tolist() == [1.5, 2.5]
        assert int(one["count/1"][0]) == 21


def test_compounds_are_shown_too(master):
    with h5py.File(master) as file:
        cells = file["cells"][...]
        assert cells.dtype.names == ("level", "mass")
        assert cells["level"].tolist() == [[0, 1, 2]] * 4
        np.testing.assert_array_equal(cells["mass"], np.repeat(STEPS / 2, 3).reshape(4, 3))
    with open_group(master) as root:
        assert root["cells"].dims == ("time", "line_x")


FACES_X, FACES_Y = [0, 1, 4, 9], [0, 5, 10, 15, 20, 25]
FACES = np.fromfunction(lambda t, y, x: 10 * t + 4 * y + x, (4, 6, 4))


def test_coordinates_of_a_mesh_label_its_dimensions(master):
    with open_group(master, "mesh") as mesh:
        faces = mesh["faces"]
        assert faces.dims == ("time", "y", "x")
        np.testing.assert_array_equal(faces["x"].values, FACES_X)
        np.testing.assert_array_equal(faces["y"].values, FACES_Y)
        assert (faces["x"].attrs["units"], faces["y"].attrs["units"]) == ("m", "km")
        np.testing.assert_array_equal(faces.values, FACES)
        assert float(faces.sel(time=7.5, y=20, x=4)) == 30 + 16 + 2
    with open_group(master, "places") as places:
        assert places["x"].dims == ("x",)
        np.testing.assert_array_equal(places["y"].values, FACES_Y)


def test_groups_of_the_master_make_a_tree(master):
    with xarray.open_datatree(master, engine="h5netcdf", group="mesh") as tree:
        np.testing.assert_array_equal(tree["faces"].sel(x=9).values, FACES[:, :, 3])


def test_every_type_reads_back(master):
    expected = np.fromfunction(lambda t, x: 10 * t + x, (4, 6))
    with open_group(master, "types") as types:
        assert len(types.data_vars) == 9
        for name, values in types.data_vars.items():
            assert values.encoding["dtype"] == np.dtype(name.replace("real", "float"))  # integers with holes may be reals here
            np.testing.assert_array_equal(values.values, expected)


# HDF5 takes % in the name of a source for the start of a pattern; XDMF's readers split at a colon.
@pytest.mark.parametrize("stem", ["%b", "storm%%d", "100%", "%d%s%%%%b%", "12:30"])
def test_any_basename_is_read_through_the_master(tmp_path, stem):
    subprocess.run([os.environ["DAMARIS_WRITE_RUN"]], cwd=tmp_path, check=True, env=os.environ | {"DAMARIS_TEST_STEM": stem})
    with h5py.File(tmp_path / f"{stem}.h5") as file:
        np.testing.assert_array_equal(file["fields/theta"][...], THETA)
        np.testing.assert_array_equal(file["mesh/x"][...], FACES_X)
    assert (tmp_path / f"{stem}.xmf").exists() == (":" not in stem)


def test_the_root_says_what_the_file_is(master):
    with h5py.File(master) as file:
        assert file.attrs["Conventions"] == "CF-1.8"
        assert (file.attrs["format"], file.attrs["title"]) == ("damaris-master", "storm")
        assert file.attrs["incomplete_iterations"].size == 0
        assert (file.attrs["shown_until"], file.attrs["complete"]) == (30, 1)


def test_h5dump_prints_values_through_the_master(master):
    text = subprocess.run(["h5dump", "-d", "/fields/theta", master], check=True, capture_output=True, text=True)
    assert text.stderr == "" and "(3,1,5,0): 30150, 30151, 30152, 30153, 30154" in text.stdout


def test_the_folder_can_be_moved_and_lose_a_file(written, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(written, moved)
    (moved / "storm.node7.s1.i10.h5").unlink()
    with open_group(moved / "storm.h5", "fields") as fields:
        expected = THETA.copy()
        expected[1, :, 2:4, :] = np.nan
        np.testing.assert_array_equal(fields["theta"].values, expected)


@pytest.fixture(scope="session")
def vtk_reader(written):
    vtk = pytest.importorskip("vtkmodules.vtkIOXdmf2", reason="VTK is not in the Python environment; run ./dev setup")
    reader = vtk.vtkXdmfReader()
    reader.SetFileName(str(written / "storm.xmf"))
    reader.UpdateInformation()
    return reader


def times_of(reader):
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as pipeline

    information = reader.GetOutputInformation(0)
    return [information.Get(pipeline.TIME_STEPS(), k) for k in range(information.Length(pipeline.TIME_STEPS()))]


def arrays_at(reader, time):
    """name -> (dimensions of its grid, values)"""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader.UpdateTimeStep(time)
    blocks = reader.GetOutputDataObject(0)
    found = {}
    for k in range(blocks.GetNumberOfBlocks()):
        grid = blocks.GetBlock(k)
        for a in range(grid.GetPointData().GetNumberOfArrays()):
            array = grid.GetPointData().GetArray(a)
            found[array.GetName()] = (grid.GetDimensions(), vtk_to_numpy(array))
    return found


def test_vtk_opens_the_xdmf_file_with_its_times_and_values(vtk_reader):
    assert times_of(vtk_reader) == TIMES.tolist()
    for index, time in enumerate(TIMES):
        found = arrays_at(vtk_reader, time)
        dimensions, theta = found["fields/theta"]
        assert dimensions == (5, 6, 2)  # VTK says x first
        np.testing.assert_array_equal(theta.reshape(2, 6, 5), THETA[index])
        np.testing.assert_array_equal(found["fields/wind"][1].reshape(6, 5), SURFACE[index])


def test_vtk_sees_a_variable_only_in_its_iterations(vtk_reader):
    assert "fields/rain" not in arrays_at(vtk_reader, 2.5)
    dimensions, rain = arrays_at(vtk_reader, 5.0)["fields/rain"]
    assert dimensions == (5, 6, 1)
    np.testing.assert_array_equal(rain.reshape(6, 5), SURFACE[2])


def test_vtk_draws_a_mesh_with_its_coordinates(vtk_reader):
    from vtkmodules.util.numpy_support import vtk_to_numpy

    dimensions, faces = arrays_at(vtk_reader, 2.5)["mesh/faces"]
    assert dimensions == (4, 6, 1)
    np.testing.assert_array_equal(faces.reshape(6, 4), FACES[1])
    blocks = vtk_reader.GetOutputDataObject(0)
    [grid] = [blocks.GetBlock(k) for k in range(blocks.GetNumberOfBlocks()) if blocks.GetBlock(k).IsA("vtkRectilinearGrid")]
    assert vtk_to_numpy(grid.GetXCoordinates()).tolist() == FACES_X
    assert vtk_to_numpy(grid.GetYCoordinates()).tolist() == FACES_Y


def test_vtk_reads_every_type_of_number(vtk_reader):
    found = {name: values for name, (_, values) in arrays_at(vtk_reader, 7.5).items() if name.startswith("types/")}
    assert len(found) == 9
    for values in found.values():
        assert values.tolist() == [30, 31, 32, 33, 34, 35]
