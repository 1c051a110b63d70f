"""The default storm is one: it rises, it rains, and its fields compress as a real storm's do."""

import zlib

import pytest
from read_cm1 import read_output, statistics
from small_storm import run

# The fields whose ratio was measured on CM1's own supercell, and the time of that measurement, s.
CORE = ("fields/u", "fields/v", "fields/w", "fields/thpert", "diagnostics/prspert", "fields/qv", "fields/qc",
        "diagnostics/tke")
TIME_S = 1800.0


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("storm")
    return run(folder, 2, dict(nx=48, ny=48, nz=40, dtl=6.0, timax=TIME_S, tapfrq=TIME_S, statfrq=60.0))


def maximum(folder, column, time_s):
    return next(row[column] for row in statistics(folder) if row["time_s"] == time_s)


def test_the_updraft_is_3_5_m_per_s_after_15_minutes(storm):
    assert 2.5 < maximum(storm, "w_max", 900.0) < 6.0


def test_a_rotating_storm_with_rain_stands_after_30_minutes(storm):
    assert 15.0 < maximum(storm, "w_max", TIME_S) < 45.0
    assert 0.002 < maximum(storm, "qr_max", TIME_S) < 0.02
    assert 0.004 < read_output(storm, "fpp", 2)["diagnostics/zvort"].max() < 0.05


def test_the_core_fields_compress_by_1_5_to_1_9_at_30_minutes(storm):
    fields = read_output(storm, "fpp", 2)
    stored = [fields[name].tobytes() for name in CORE]
    ratio = sum(map(len, stored)) / sum(len(zlib.compress(data, 6)) for data in stored)
    print(f"gzip 6 at {TIME_S:.0f} s: {ratio:.2f}")
    assert 1.5 < ratio < 1.9
