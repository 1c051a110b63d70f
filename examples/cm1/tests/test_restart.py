"""A run that was stopped and restarted is the run that was not, to the last bit."""

import shutil

import pytest
from read_cm1 import read_output, same_bits, statistics
from small_storm import SMALL_STORM, attempt, hears_last_words, run


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    return run(folder, 2, dict(SMALL_STORM, tapfrq=60.0, rstfrq=120.0))


@pytest.fixture
def restarted(straight, tmp_path):
    for path in straight.glob("cm1rst_000001_*.dat"):
        shutil.copy(path, tmp_path)
    return dict(SMALL_STORM, tapfrq=60.0, irst=1, rstnum=1), tmp_path


def test_outputs_and_statistics_after_a_restart_are_bitwise_equal(straight, restarted):
    settings, folder = restarted
    run(folder, 2, settings)
    for output in (4, 5):
        once, again = read_output(straight, "fpp", output), read_output(folder, "fpp", output)
        assert all(same_bits(once[name], again[name]) for name in once)
    assert statistics(straight)[-1] == statistics(folder)[-1]


@hears_last_words
def test_a_restart_on_other_tiles_is_refused(restarted):
    settings, folder = restarted
    done = attempt(folder, 2, dict(settings, nodex=2, nodey=1))
    assert done.returncode != 0
    assert "of another grid, time step or tiling" in done.output


@hears_last_words
def test_a_restart_file_cut_short_is_refused(restarted):
    settings, folder = restarted
    path = folder / "cm1rst_000001_0001.dat"
    path.write_bytes(path.read_bytes()[:100000])
    done = attempt(folder, 2, settings)
    assert done.returncode != 0
    assert "is cut short" in done.output


@hears_last_words
def test_a_missing_restart_file_is_named(restarted):
    settings, folder = restarted
    done = attempt(folder, 2, dict(settings, rstnum=7))
    assert done.returncode != 0
    assert "no restart file ./cm1rst_000007_000" in done.output
