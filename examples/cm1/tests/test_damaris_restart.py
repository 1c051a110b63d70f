"""A run that goes on from what dedicated cores stored is the run that was not stopped, to the last bit, on any number of ranks."""

import json

import pytest
from read_cm1 import read_output, same_bits, statistics
from small_storm import SMALL_STORM, attempt, hears_last_words, run

STORM = dict(SMALL_STORM, tapfrq=60.0, backend="damaris")


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """Outputs 1 to 5, of which 1, 3 and 5 are restarts."""
    return run(tmp_path_factory.mktemp("straight"), 3, dict(STORM, rstfrq=120.0), nodes="3")


def assert_goes_on(straight, folder):
    for output in (4, 5):
        once, again = read_output(straight, "damaris", output), read_output(folder, "damaris", output)
        assert len(again) >= 23 and again.keys() <= once.keys()
        for name, array in again.items():
            assert same_bits(once[name], array), (output, name)
    assert statistics(straight)[-1] == statistics(folder)[-1]


# Ranks of each virtual node, one of them a dedicated core: as before, fewer, more, and on two nodes.
@pytest.mark.parametrize("nodes", [(3,), (2,), (5,), (3, 2)])
def test_a_restart_goes_on_bitwise_on_any_number_of_ranks(straight, tmp_path, nodes):
    settings = dict(STORM, irst=1, rstnum=3, ppnode=[ranks - 1 for ranks in nodes])
    run(tmp_path, sum(nodes), settings, nodes=",".join(map(str, nodes)), restart=straight / "cm1out")
    assert_goes_on(straight, tmp_path)


def test_a_restart_of_what_two_nodes_stored_goes_on_on_one(tmp_path):
    first = run(tmp_path / "first", 6, dict(STORM, timax=120.0, rstfrq=120.0, ppnode=[2, 2]), nodes="3,3")
    one = run(tmp_path / "one", 3, dict(STORM, irst=1, rstnum=0), nodes="3", restart=first / "cm1out")
    again = run(tmp_path / "again", 2, dict(STORM, irst=1, rstnum=3), nodes="2", restart=first / "cm1out")
    for name, array in read_output(one, "damaris", 5).items():
        assert same_bits(array, read_output(again, "damaris", 5)[name]), name


def test_a_restart_of_one_file_of_two_nodes_goes_on_bitwise_in_files_of_any_kind(straight, tmp_path):
    first = run(tmp_path / "first", 6, dict(STORM, timax=180.0, rstfrq=120.0, ppnode=[2, 2]), nodes="3,3", files="single")
    assert len(list(first.glob("cm1out*.i*.h5"))) == 4, "an output is not one file"
    own = run(tmp_path / "own", 2, dict(STORM, irst=1, rstnum=3), nodes="2", restart=first / "cm1out")
    assert_goes_on(straight, own)
    shared = run(tmp_path / "shared", 5, dict(STORM, irst=1, rstnum=3, ppnode=[2, 1]), nodes="3,2", restart=first / "cm1out", files="single")
    assert_goes_on(straight, shared)


def test_the_last_restart_is_found_where_it_is_complete(straight, tmp_path):
    """rstnum = 0 takes it; an output that is no restart, or not complete, is passed over."""
    for path in straight.glob("cm1out*"):
        (tmp_path / path.name).symlink_to(path)
    for path in straight.glob("cm1out.g1.*.jsonl"):
        lines = path.read_text().splitlines()
        later = next((number for number, line in enumerate(lines) if json.loads(line).get("step", 0) > 4), len(lines))
        (tmp_path / path.name).unlink()
        (tmp_path / path.name).write_text("\n".join(lines[:later]) + "\n")  # the records are numbered: none may be missing in the middle
    folder = run(tmp_path / "on", 3, dict(STORM, irst=1, rstnum=0), nodes="3", restart=tmp_path / "cm1out")
    assert_goes_on(straight, folder)


@hears_last_words
@pytest.mark.parametrize("settings, sentence", [
    (dict(rstnum=9), "'restart/clock' of step 9 is not in"),
    (dict(rstnum=2), "the variable was not stored in that step"),
    (dict(rstnum=3, nx=32), "it was stored with the global extents (20,26,31), but the client requests (20,26,33)"),
    (dict(rstnum=3, dtl=3.0), "has another time step (dtl)"),
])
def test_a_restart_that_cannot_be_is_refused(straight, tmp_path, settings, sentence):
    done = attempt(tmp_path, 3, dict(STORM, irst=1, **settings), nodes="3", restart=straight / "cm1out")
    assert done.returncode != 0
    assert sentence in done.output


@hears_last_words
def test_a_restart_between_outputs_is_refused(tmp_path):
    done = attempt(tmp_path, 2, dict(STORM, rstfrq=90.0), nodes="2")
    assert done.returncode != 0
    assert "rstfrq must be a multiple of tapfrq" in done.output
