"""The run most tests use: a small storm on a grid that no number of ranks divides evenly."""

import os

import pytest
from run_cm1 import launch, prepare

SMALL_STORM = dict(nx=30, ny=26, nz=20, dtl=6.0, timax=240.0, tapfrq=240.0, statfrq=60.0, zd=8000.0)

# For tests of what the program says when it gives up.
hears_last_words = pytest.mark.skipif(os.environ.get("DAMARIS_MPI_FLAVOUR") == "mpich",
                                      reason="mpirun.mpich may lose what a rank printed just before it aborted")


def attempt(folder, ranks, settings, nodes=None, servers=1, arguments=(), restart=None):
    """Runs with the settings and returns what came of it."""
    return launch(prepare(folder, settings, servers, restart=restart), ranks, nodes=nodes, arguments=arguments)


def run(folder, ranks, settings, nodes=None, servers=1, restart=None):
    """Runs with the settings, which must succeed; returns the folder. servers: dedicated cores of each node."""
    done = attempt(folder, ranks, settings, nodes, servers, restart=restart)
    assert done.returncode == 0, done.output[-4000:]
    return folder
