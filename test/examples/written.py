"""What an example wrote: its files by step, and comparisons that say what differs."""

import glob
import re

import h5py
import numpy


def files_of(basename, steps, servers=1):
    """The opened files of each step, a list of lists; there must be one per server and step, and no other."""
    names = glob.glob(f"{basename}.*.h5")
    by_step = [[name for name in sorted(names) if re.search(rf"\.i0*{step}\.h5$", name)] for step in range(steps)]
    assert sum(len(of_step) for of_step in by_step) == len(names), f"unexpected files among {sorted(names)}"
    assert all(len(of_step) == servers for of_step in by_step), f"{servers} file(s) for each of {steps} steps, not {sorted(names)}"
    return [[h5py.File(name, "r") for name in of_step] for of_step in by_step]


def file_of_each_step(basename, steps):
    return [of_step[0] for of_step in files_of(basename, steps)]


def same(dataset, expected, dtype):
    """The dataset has exactly these values, this type and this shape."""
    expected = numpy.asarray(expected, dtype)
    assert dataset.dtype == expected.dtype, f"{dataset.name}: type {dataset.dtype}, not {expected.dtype}"
    assert dataset.shape == expected.shape, f"{dataset.name}: shape {dataset.shape}, not {expected.shape}"
    assert numpy.array_equal(dataset[...], expected), f"{dataset.name}: {dataset[...]}, not {expected}"


def described(dataset, **attributes):
    """The dataset has these attributes."""
    for name, value in attributes.items():
        assert name in dataset.attrs, f"{dataset.name} has no attribute {name}, only {list(dataset.attrs)}"
        assert dataset.attrs[name] == value, f"{dataset.name}: {name} is {dataset.attrs[name]!r}, not {value!r}"
