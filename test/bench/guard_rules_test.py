"""What the guard decides about figures that are made up: no run, no machine."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "guard"))

from baseline import Baseline, changes, read_baseline, updated, write_baseline  # noqa: E402
from guard import judge_part, medians  # noqa: E402
from ratios import quotients  # noqa: E402
from toolchain import KEYS, differences  # noqa: E402
from verdict import Measured, judge, sentence  # noqa: E402

HERE = dict.fromkeys(KEYS, "this")


def row(now, better="lower", name="a row", group="write"):
    return Measured(group, name, now, better)


@pytest.mark.parametrize("better, now, state", [
    ("lower", 2.01, "WORSE"), ("lower", 1.99, "ok"), ("lower", 0.51, "ok"), ("lower", 0.49, "better"),
    ("higher", 0.49, "WORSE"), ("higher", 0.51, "ok"), ("higher", 1.99, "ok"), ("higher", 2.01, "better")])
def test_a_margin_is_a_factor_to_either_side(better, now, state):
    assert judge(row(now, better), 1.0, 2).state == state


def test_the_sentence_names_row_figures_and_what_to_do():
    text = sentence(judge(row(0.2, "higher", "rate"), 1.0, 2.5))
    assert text.startswith("rate is worse: 0.2, baseline 1, at least 0.4 allowed. Fix it")
    assert "./dev bench --quick --update" in text and "commit message" in text
    assert sentence(judge(row(1.0), 1.0, 2)) == ""
    assert "./dev bench --quick --update adds it to the baseline" in sentence(judge(row(1.0), None, 2))


def runs_of(*figures):
    runs = iter(figures)
    return lambda part: [row(next(runs))]


def with_row(value, group="write"):
    return updated(Baseline(), HERE, [row(value, group=group)])


def test_a_benchmark_runs_again_while_a_row_is_worse_and_the_best_counts():
    assert [one.now for one in judge_part("write", with_row(1.0), True, runs_of(5, 3, 1.5))] == [1.5]
    always_worse = [5, 3, 4, 5, 5, 5, 1]  # but for one that is not tried any more
    assert [one.state for one in judge_part("write", with_row(1.0), True, runs_of(*always_worse))] == ["WORSE"]
    assert [one.now for one in judge_part("write", with_row(1.0), True, runs_of(*always_worse))] == [3]
    assert [one.now for one in judge_part("write", with_row(1.0), True, runs_of(1.9))] == [1.9]


def test_a_row_that_nothing_measures_any_more_fails_and_a_new_one_does_not():
    verdicts = judge_part("write", with_row(1.0), True, lambda part: [row(1.0, name="another")])
    assert [(one.name, one.state) for one in verdicts] == [("another", "new"), ("a row", "gone")]
    assert "nothing measures it any more" in sentence(verdicts[1])


def test_rows_that_are_times_or_that_only_some_machines_have_are_left_out_and_processor_time_comes_first():
    names = ["dc_write 64 B, ns added over memcpy", "4 KiB block per source, us of CPU", "idle server, % of a core",
             "dc_write 1 MiB, server writes, p99 / p50", "16 bits, t01800, no AVX-512", "dc_write 1 MiB over memcpy, 2 clients",
             "dc_write >= 1 MiB over memcpy", "ratio to HDF5's, turbulence fields"]
    rows = [dict(name=name, ratio=3.0, better="lower", cpu_ratio=2.0) for name in names[:-1]]
    rows.append(dict(name=names[-1], ratio=1.02, better="higher"))
    assert quotients("write", rows) == [Measured("write", names[-2], 2.0, "lower"), Measured("sizes", names[-1], 1.02, "higher")]


def test_a_fact_of_the_toolchain_that_differs_is_told_and_widens_the_counts_only():
    assert differences(HERE, HERE) == []
    assert differences(dict(HERE, glibc="2.31"), HERE) == ["glibc: here this, baseline 2.31"]
    assert Baseline().margin("counts", True) == 1.02 and Baseline().margin("counts", False) == 2
    assert Baseline().margin("write", True) == Baseline().margin("write", False)


def test_an_update_keeps_margins_and_groups_that_were_not_measured_and_tells_what_changed(tmp_path):
    old = with_row(1.0)
    old.rows["counts"] = {"kept": 400.0}
    old.margins["write"] = 1.5
    new = updated(old, HERE, [row(2.0), row(3.0, name="more")])
    assert list(changes(old, new)) == [("a row", 1.0, 2.0), ("more", None, 3.0)]
    path = tmp_path / "baseline.json"
    write_baseline(path, new)
    again = read_baseline(path)
    assert again == new and again.margins["write"] == 1.5 and again.rows["counts"] == {"kept": 400.0}


def test_the_baseline_of_the_sources_can_be_read():
    baseline = read_baseline(Path(__file__).resolve().parents[2] / "bench" / "guard" / "baseline.json")
    assert all(baseline.rows.values())


def test_a_new_baseline_takes_the_median_of_the_runs():
    assert medians([[row(3.0)], [row(1.0)], [row(2.0)]]) == [row(2.0)]
