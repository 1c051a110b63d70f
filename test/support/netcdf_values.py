"""Reads every variable of a file through netCDF-C, as stored, and keeps them as arrays: netcdf_values.py FILE NPZ [xarray|masks].

For Debian's Python, whose netCDF4 and xarray stand on Debian's netCDF-C: in one process with h5py and its own HDF5 they would crash.
With `xarray` the default engine reads the root group. With `masks` the arrays say which elements netCDF4 takes for missing.
"""

import sys

try:
    import netCDF4
    import numpy
except ImportError as missing:
    sys.exit(f"SKIP: {missing}; ./dev setup installs python3-netcdf4 and python3-xarray")


def variables_of(group, path=""):
    for name, variable in group.variables.items():
        yield path + name, variable
    for name, below in group.groups.items():
        yield from variables_of(below, f"{path}{name}/")


def through_netcdf(name):
    with netCDF4.Dataset(name) as file:
        file.set_auto_maskandscale(False)
        found = {}
        for path, variable in variables_of(file):
            try:
                found[path] = variable[...]
            except RuntimeError as refused:
                found[path] = numpy.array(f"refused: {refused}")
        return found


def through_xarray(name):
    import xarray

    with xarray.open_dataset(name, decode_cf=False) as root:
        return {path: values.values for path, values in root.variables.items()}


def masks(name):
    with netCDF4.Dataset(name) as file:
        return {path: numpy.ma.getmaskarray(variable[...]) for path, variable in variables_of(file) if path.startswith("full/")}


read = {"xarray": through_xarray, "masks": masks}.get("".join(sys.argv[3:]), through_netcdf)
numpy.savez(sys.argv[2], **{path.replace("/", "|"): values for path, values in read(sys.argv[1]).items()})
