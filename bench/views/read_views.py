"""Opens a run's master file and reads one step of one variable, with h5py and with xarray; prints the times as JSON.

Used by: damaris-bench views. The folder has run.h5 and the files of the last step.
"""

import json
import pathlib
import resource
import sys
import time


def seconds(call):
    begun = time.perf_counter()
    result = call()
    return time.perf_counter() - begun, result


def with_h5py(master):
    import h5py

    open_s, (file, name) = seconds(lambda: open_all(h5py.File(master)))
    slice_s, values = seconds(lambda: file[name][-1])
    assert (values == 1).all(), "values of the last step are missing"
    return {"open_s": open_s, "slice_s": slice_s}


def open_all(file):
    """As readers do: the shape of each variable."""
    names = [name for name in file if file[name].ndim == 2]
    return file, names[0]


def with_xarray(master):
    import xarray

    open_s, data = seconds(lambda: xarray.open_dataset(master, engine="h5netcdf"))
    name = [name for name in data.data_vars if data[name].ndim == 2][0]
    slice_s, values = seconds(lambda: data[name][-1].values)
    assert (values == 1).all(), "values of the last step are missing"
    return {"open_s": open_s, "slice_s": slice_s}


READERS = {"h5py": with_h5py, "xarray": with_xarray}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    __import__(sys.argv[1])  # whose time does not count
    found = READERS[sys.argv[1]](pathlib.Path(sys.argv[2]) / "run.h5")
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found))
