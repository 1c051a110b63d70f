"""The flux-form tracer goes where the wind carries it, and its total stays."""

import numpy as np
from read_cm1 import read_output, statistics
from small_storm import SMALL_STORM, run


def test_the_total_of_the_tracer_is_conserved(tmp_path):
    run(tmp_path, 2, dict(SMALL_STORM, timax=900.0, tapfrq=900.0, statfrq=6.0))
    rows = statistics(tmp_path)
    assert len(rows) == 150
    totals = np.array([row["tracer_mass"] for row in rows])
    assert np.abs(totals / totals[0] - 1.0).max() < 1e-6
    before, after = read_output(tmp_path, "fpp", 1)["fields/tracer"], read_output(tmp_path, "fpp", 2)["fields/tracer"]
    assert np.abs(after - before).max() > 0.01
