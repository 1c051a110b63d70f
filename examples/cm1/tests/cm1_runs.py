"""Starts the mini-app and reads what it wrote. Used by every test here.

The build says where things are: CM1_PROGRAM, DAMARIS_SOURCE_DIR, DAMARIS_MPI_FLAVOUR.
"""

import csv
import os
import subprocess
from pathlib import Path

import h5py
import numpy as np

GROUPS = {
    "param0": "nx ny nz nodex nodey ppnode",
    "param1": "dx dy dz dtl timax tapfrq rstfrq statfrq",
    "param2": "irst rstnum imoist ptype iwnd iinit irdamp nsound",
    "param3": "kdiv rdalpha zd umove vmove",
    "param9": "output_filetype output_path output_basename",
    "miniapp": "backend config work",
}

# A small storm on a grid that no number of ranks divides evenly.
SMALL_STORM = dict(nx=30, ny=26, nz=20, dtl=6.0, timax=240.0, tapfrq=240.0, statfrq=60.0, zd=8000.0)


def write_namelist(path, settings):
    """Writes settings into the namelist group each belongs to."""
    unknown = set(settings) - set(" ".join(GROUPS.values()).split())
    assert not unknown, f"no namelist group has {unknown}"
    with open(path, "w") as out:
        for group, names in GROUPS.items():
            out.write(f"&{group}\n")
            for name in names.split():
                if name in settings:
                    out.write(f"  {name} = {as_fortran(settings[name])}\n")
            out.write("/\n")


def as_fortran(value):
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, (list, tuple)):
        return ", ".join(as_fortran(v) for v in value)
    return str(value)


def launch(folder, ranks, settings, nodes=None, limit_s=120, arguments=()):
    """Runs the program in the folder and returns the finished process, whatever its exit code."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_namelist(folder / "namelist.input", settings)
    launcher = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "scripts" / "mpi-run"
    command = [launcher, os.environ["DAMARIS_MPI_FLAVOUR"], "-n", str(ranks), os.environ["CM1_PROGRAM"],
               *arguments]
    environment = dict(os.environ)
    if nodes:
        environment["DAMARIS_RANKS_PER_NODE"] = nodes
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=limit_s)


def run(folder, ranks, settings, nodes=None, limit_s=120):
    """Runs the program, which must succeed; returns the folder."""
    done = launch(folder, ranks, settings, nodes, limit_s)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return Path(folder)


def tiles(folder, output):
    """The files of one file-per-process output, by rank."""
    return sorted(Path(folder).glob(f"cm1out_{output:06d}_*.h5"))


def variables_of(h5file):
    return [f"{group}/{name}" for group in sorted(h5file) for name in sorted(h5file[group])]


def joined(folder, output):
    """Every variable of a file-per-process output as one global array, {group/name: array}."""
    pieces = {}
    for path in tiles(folder, output):
        with h5py.File(path) as h5file:
            for name in variables_of(h5file):
                pieces.setdefault(name, []).append((h5file[name].attrs["position"], h5file[name][()]))
    assert pieces, f"no output {output} in {folder}"
    return {name: join(parts) for name, parts in pieces.items()}


def join(parts):
    """Puts tiles at their positions; faces that two tiles share must agree to the last bit."""
    extent = np.max([position + array.shape for position, array in parts], axis=0)
    whole = np.zeros(extent, dtype=np.float32)
    filled = np.zeros(extent, dtype=bool)
    for position, array in parts:
        box = tuple(slice(p, p + n) for p, n in zip(position, array.shape))
        assert same_bits(whole[box][filled[box]], array[filled[box]]), "two tiles disagree on a shared face"
        whole[box] = array
        filled[box] = True
    assert filled.all(), "the tiles leave a hole"
    return whole


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def statistics(folder):
    """cm1_stats.csv as a list of {column: number}."""
    with open(Path(folder) / "cm1_stats.csv") as lines:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]
