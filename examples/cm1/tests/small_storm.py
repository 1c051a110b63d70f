"""The run most tests use: a small storm on a grid that no number of ranks divides evenly."""

import os

import pytest
from run_cm1 import launch, prepare

SMALL_STORM = dict(nx=30, ny=26, nz=20, dtl=6.0, timax=240.0, tapfrq=240.0, statfrq=60.0, zd=8000.0)

LIMIT_S = 400  # of a run, where others use the cores

# For tests of what the program says when it gives up.
hears_last_words = pytest.mark.skipif(os.environ.get("DAMARIS_MPI_FLAVOUR") == "mpich",
                                      reason="mpirun.mpich may lose what a rank printed just before it aborted")


def attempt(folder, ranks, settings, nodes=None, servers=1, arguments=(), **hdf5):
    """Runs with the settings and returns what came of it. hdf5: attributes of the XML's <hdf5>."""
    return launch(prepare(folder, settings, servers, **hdf5), ranks, nodes=nodes, arguments=arguments, limit_s=LIMIT_S)


def run(folder, ranks, settings, nodes=None, servers=1, **hdf5):
    """Runs with the settings, which must succeed; returns the folder. servers: dedicated cores of each node."""
    done = attempt(folder, ranks, settings, nodes, servers, **hdf5)
    assert done.returncode == 0, done.output[-4000:]
    return folder
