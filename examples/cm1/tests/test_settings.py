"""A wrong namelist ends with a sentence that names what is wrong; a right one leaves its records."""

import csv

import pytest
from small_storm import SMALL_STORM, attempt, hears_last_words, run


@hears_last_words
@pytest.mark.parametrize("change, sentence", [
    (dict(backend="netcdf"), "backend 'netcdf' is unknown: none, fpp, collective, damaris or library"),
    (dict(backend="library", config="./absent.so"), 'cannot load "./absent.so"'),
    (dict(tapfrq=1.0), "tapfrq must be at least one time step"),
    (dict(work=0), "work must be 1 or more"),
    (dict(nodex=3, nodey=3), "nodex*nodey must be the number of computing ranks"),
    (dict(dtl=60.0, nsound=6, timax=3000.0, tapfrq=3000.0), "unstable at step"),
    (dict(output_path="nowhere"), 'cannot write into the output folder "nowhere"'),
])
def test_a_bad_setting_is_named(tmp_path, change, sentence):
    done = attempt(tmp_path, 2, dict(SMALL_STORM, **change))
    assert done.returncode != 0
    assert sentence in done.output


@hears_last_words
def test_a_name_the_namelist_does_not_have_is_an_error(tmp_path):
    run(tmp_path, 1, dict(SMALL_STORM, timax=0.0))
    text = (tmp_path / "namelist.input").read_text()
    (tmp_path / "wrong.input").write_text(text.replace("nx =", "nxx ="))
    done = attempt(tmp_path, 1, SMALL_STORM, arguments=[str(tmp_path / "wrong.input")])
    assert done.returncode != 0
    assert "&param0" in done.output


@hears_last_words
def test_a_missing_namelist_file_is_named(tmp_path):
    done = attempt(tmp_path, 1, SMALL_STORM, arguments=["absent.input"])
    assert done.returncode != 0
    assert 'no namelist file "absent.input"' in done.output


def test_each_rank_records_each_phase_of_each_step(tmp_path):
    run(tmp_path, 2, dict(SMALL_STORM, tapfrq=120.0, rstfrq=120.0))
    for rank in (0, 1):
        with open(tmp_path / f"cm1_timers_{rank:04d}.csv") as lines:
            rows = list(csv.DictReader(lines))
        steps = {phase: [int(row["step"]) for row in rows if row["phase"] == phase]
                 for phase in ("compute", "statistics", "diagnose", "write", "restart")}
        assert {int(row["rank"]) for row in rows} == {rank}
        assert steps["compute"] == list(range(1, 41))
        assert steps["statistics"] == [10, 20, 30, 40]
        assert steps["write"] == steps["diagnose"] == [0, 20, 40]
        assert steps["restart"] == [20, 40]
        assert all(float(row["seconds"]) >= 0.0 for row in rows)
