"""Reads what the mini-app wrote, whichever back end wrote it: {group/variable: global array}."""

import csv
import re
from pathlib import Path

import h5py
import numpy as np


def files_of(folder, backend, output):
    """The HDF5 files of one output, numbered from 1."""
    patterns = {
        "fpp": rf"cm1out_{output:06d}_\d+\.h5",
        "collective": rf"cm1out_{output:06d}\.h5",
        "damaris": rf"cm1out\.(.*\.)?i0*{output}\.h5",
    }
    return sorted(path for path in Path(folder).iterdir() if re.fullmatch(patterns[backend], path.name))


def read_output(folder, backend, output, wanted=None):
    """All variables of an output, or those wanted, each as one global array."""
    pieces = {}
    for path in files_of(folder, backend, output):
        with h5py.File(path) as h5file:
            for name, dataset in datasets(h5file):
                if wanted is None or name in wanted:
                    position = dataset.attrs.get("position", np.zeros(dataset.ndim, int))
                    pieces.setdefault(name, []).append((position, dataset[()]))
    if not pieces:
        raise FileNotFoundError(f"no output {output} of {backend} in {folder}")
    return {name: join(parts) for name, parts in pieces.items()}


def datasets(h5file):
    """(group/variable, dataset) for /group/variable and for /group/variable/source."""
    for group in h5file.values():
        for name, member in group.items():
            parts = member.values() if isinstance(member, h5py.Group) else [member]
            yield from ((f"{group.name[1:]}/{name}", part) for part in parts)


def join(parts):
    """Puts tiles at their positions; faces that two tiles share must agree to the last bit."""
    extent = np.max([np.add(position, array.shape) for position, array in parts], axis=0)
    whole = np.zeros(extent, dtype=parts[0][1].dtype)
    filled = np.zeros(extent, dtype=bool)
    for position, array in parts:
        box = tuple(slice(p, p + n) for p, n in zip(position, array.shape))
        if not same_bits(whole[box][filled[box]], array[filled[box]]):
            raise ValueError("two tiles disagree on a face they share")
        whole[box] = array
        filled[box] = True
    if not filled.all():
        raise ValueError("the tiles leave a hole")
    return whole


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def statistics(folder):
    """cm1_stats.csv as a list of {column: number}."""
    with open(Path(folder) / "cm1_stats.csv") as lines:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]


def timers(folder):
    """All ranks' records as a list of (rank, step, phase, seconds)."""
    records = []
    for path in sorted(Path(folder).glob("cm1_timers_*.csv")):
        with open(path) as lines:
            records += [(int(row["rank"]), int(row["step"]), row["phase"], float(row["seconds"]))
                        for row in csv.DictReader(lines)]
    return records
