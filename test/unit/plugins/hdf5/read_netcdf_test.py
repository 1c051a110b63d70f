"""netCDF's tools read what the plugin writes, as h5py does: ncdump, ncks, netCDF4, xarray's default engine, and cdo where it is.

DAMARIS_WRITE_SAMPLE and DAMARIS_WRITE_RUN are the programs of write_sample.cpp and write_run.cpp.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "support"))
import netcdf_files  # noqa: E402

pytestmark = pytest.mark.skipif(netcdf_files.MISSING != [], reason=f"not installed: {netcdf_files.MISSING}; run ./dev setup")


def written(tmp_path_factory, name, *arguments):
    folder = tmp_path_factory.mktemp("written")
    subprocess.run([os.environ[name], *arguments], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    return written(tmp_path_factory, "DAMARIS_WRITE_SAMPLE", "zstd") / "sample.node7.s3.i42.h5"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return written(tmp_path_factory, "DAMARIS_WRITE_RUN")


def test_netcdf_reads_every_dataset_of_a_server_as_h5py_does(sample):
    header = netcdf_files.check_file(sample)
    assert "int64 count(" in header and 'string theta:units = "K"' in header
    assert "theta:part_positions = 0LL, 6LL, 0LL, 0LL, 6LL, 3LL" in header
    assert 'string :skipped_variables = "fields/rain", "label"' in header


def test_ncdump_prints_the_values_of_one_variable(sample):
    assert "110, 111, 112, 113, 114, 115," in netcdf_files.run("ncdump", "-v", "/fields/theta", sample)
    assert '"storm"' in netcdf_files.run("ncdump", "-v", "/label/0", sample)


def test_a_filter_that_netcdf_has_not_costs_its_variable_only(sample):
    values = netcdf_files.values_in(sample)
    assert str(values["reduced/zstd/0"]).startswith("refused: ") and values["reduced/rounded/0"].size == 4096


def test_xarrays_default_engine_opens_a_file_and_the_master(sample, run):
    netcdf_files.check_root(sample)
    netcdf_files.check_root(run / "storm.h5")


@pytest.mark.parametrize("name", ["storm.h5", "storm.node7.s0.i0.h5"])
def test_netcdf4_masks_no_value_of_8_bits_that_equals_a_fill_value(run, name):
    masks = netcdf_files.values_in(run / name, "masks")  # of 16 bits and more it masks these values in any file without _FillValue
    assert not masks["full/int8"].any() and not masks["full/uint8"].any()


def test_netcdf_reads_every_file_of_a_run_and_the_master(run):
    assert len(list(run.glob("storm.node7.*.h5"))) == 12
    for server in range(3):
        netcdf_files.check_file(run / f"storm.node7.s{server}.i{10 * server}.h5")
    header = netcdf_files.check_file(run / "storm.h5")
    assert "float theta(time, points_z, points_y, points_x)" in header and "wind:scale_factor = 0.125" in header


def test_ncks_takes_a_variable_of_the_master_out_of_its_group(run, tmp_path):
    netcdf_files.run("ncks", "-G", ":", "-g", "fields", "-v", "theta", run / "storm.h5", tmp_path / "theta.nc")
    assert "float theta(time, points_z, points_y, points_x)" in netcdf_files.run("ncdump", "-h", tmp_path / "theta.nc")


def test_ncrcat_joins_the_views_of_two_runs_along_time(run, tmp_path):
    records = ("--mk_rec_dmn", "time", "--cnk_plc=all", "-G", ":", "-g", "fields", "-v", "theta")
    netcdf_files.run("ncks", *records, run / "storm.h5", tmp_path / "one.nc")
    netcdf_files.run("ncrcat", tmp_path / "one.nc", tmp_path / "one.nc", tmp_path / "both.nc")
    one, both = netcdf_files.values_in(run / "storm.h5")["fields/theta"], netcdf_files.values_in(tmp_path / "both.nc")["theta"]
    assert one.shape[0] == 4 and numpy.array_equal(both, numpy.concatenate([one, one]))


def test_the_master_opens_when_a_file_is_gone(run, tmp_path):
    shutil.copytree(run, tmp_path / "moved")
    (tmp_path / "moved" / "storm.node7.s1.i10.h5").unlink()
    netcdf_files.check_file(tmp_path / "moved" / "storm.h5")


@pytest.mark.skipif(shutil.which("cdo") is None, reason="cdo is not installed; it brings 425 MB, so ./dev setup leaves it out")
def test_cdo_lists_the_root_of_the_master(run):
    assert "time : 4 steps" in netcdf_files.run("cdo", "sinfo", run / "storm.h5")
