"""What netCDF's tools make of a file, beside what h5py reads: check_file(path) asserts that they open it and give the same values.

netCDF-C has no names for compounds of no named type and leaves them out; a dimension without values is no variable there.
"""

import pathlib
import shutil
import subprocess

import h5py
import numpy

MISSING = [tool for tool in ("ncdump", "ncks", "/usr/bin/python3") if shutil.which(tool) is None]


def run(*command):
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout[-400:]}{done.stderr[-400:]}"
    return done.stdout


def values_in(path, *how):
    """By path, through netCDF-C."""
    arrays = pathlib.Path.cwd() / f"{pathlib.Path(path).name}.{'-'.join(how)}.npz"
    run("/usr/bin/python3", pathlib.Path(__file__).with_name("netcdf_values.py"), path, arrays, *how)
    with numpy.load(arrays) as read:
        found = {name.replace("|", "/"): read[name] for name in read.files}
    arrays.unlink()
    return found


def has_values(dataset):
    return not dataset.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not a netCDF variable")


def datasets_in(path):
    """By path, what netCDF-C knows, through h5py; None for what needs a filter that h5py has not."""
    found = {}

    def visit(name, dataset):
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.names is not None or not has_values(dataset):
            return
        try:
            found[name] = dataset[...]
        except OSError:
            found[name] = None

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def assert_same(name, stored, read):
    if stored is None:
        assert str(read).startswith("refused: "), f"{name}: {read}"
        return
    assert read.shape == stored.shape, f"{name}: {read.shape}, not {stored.shape}"
    if stored.dtype.kind == "S":
        assert read.tobytes() == stored.tobytes(), name
        return
    kept = "f4" if stored.dtype == numpy.float16 else stored.dtype  # what has 16 bits is read as 32
    assert read.dtype == kept, f"{name}: {read.dtype}"
    numpy.testing.assert_array_equal(read, stored, err_msg=name)


def check_file(path):
    """Returns what ncdump says of the whole file without its values."""
    header = run("ncdump", "-h", path)
    run("ncks", "-m", path)
    stored, read = datasets_in(path), values_in(path)
    assert sorted(read) == sorted(stored), f"{path}: {sorted(read)}, not {sorted(stored)}"
    for name, values in stored.items():
        assert_same(name, values, read[name])
    return header


def check_root(path):
    """xarray's default engine, over the root group."""
    stored, read = datasets_in(path), values_in(path, "xarray")
    assert sorted(read) == sorted(name for name in stored if "/" not in name)
    for name, values in read.items():
        assert_same(name, stored[name], values)
