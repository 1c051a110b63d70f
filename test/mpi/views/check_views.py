"""A run of two servers as one: labelled by the mesh of the XML, with a time for each of two rhythms.

VIEWS_FILES is the number of files that it has left, 6 by default, VIEWS_RAIN_ERROR the largest error of the rain, 0 by default.
"""

import os
import pathlib
import sys

import h5py
import numpy
import xarray

HEIGHT = numpy.fromfunction(lambda t, y, x: 1000 * t + 100 * y + x, (3, 2, 12))

with xarray.open_dataset("views.h5", engine="h5netcdf", group="surface") as surface:
    height, rain = surface["height"], surface["rain"]
    assert height.dims == ("time", "y", "x") and rain.dims == ("time_1", "y", "x"), surface
    numpy.testing.assert_array_equal(height.values, HEIGHT)
    numpy.testing.assert_allclose(rain.values, HEIGHT[::2], rtol=0, atol=float(os.environ.get("VIEWS_RAIN_ERROR", "0")))
    numpy.testing.assert_array_equal(surface["time"].values, [0, 0.25, 0.5])
    numpy.testing.assert_array_equal(surface["time_1"].values, [0, 0.5])
    numpy.testing.assert_array_equal(surface["x"].values, 0.5 * numpy.arange(12))
    numpy.testing.assert_array_equal(surface["y"].values, [-5, 5])
    assert surface["x"].attrs["units"] == "km" and height.attrs["long_name"] == "height of the water"
    assert float(height.sel(time=0.5, y=5, x=5.5)) == 2111

with h5py.File("views.h5") as master:
    [reason] = master.attrs["not_shown"]
    assert reason.startswith("ids: "), reason
    assert master.attrs["incomplete_iterations"].size == 0

FILES = sorted(pathlib.Path().glob("views.*.i*.h5")) or sorted(pathlib.Path().glob("views.i*.h5"))
assert len(FILES) == int(os.environ.get("VIEWS_FILES", "6")), FILES
clients = []
for path in FILES:
    with h5py.File(path) as file:
        clients += [int(client) for client in file["ids"]]
assert sorted(clients) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], clients

sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/test/support")
import netcdf_files  # noqa: E402

if netcdf_files.MISSING:
    print(f"not read with netCDF's tools: {netcdf_files.MISSING} are not installed; run ./dev setup")
else:
    for path in (pathlib.Path("views.h5"), FILES[0], FILES[-1]):
        netcdf_files.check_file(path)
