"""What bench all says of results that are made up as a whole: day, commit, noise, machine, and what to keep in mind."""

import json

import pytest
from made_results import MACHINE, report, write  # first: it says where the others are

from caveats import caveats_of
from facts import machine_text, when_text
from results import read_results
from when_it_pays import pays_text


def test_days_commits_and_noise_are_told(tmp_path):
    line = dict(began="2026-01-31 12:00", seconds=60, commit="abc", others_cores=0.5, stolen_percent=3.0)
    write(tmp_path, "queue", report())
    write(tmp_path, "slots", report())
    parts = {"queue": line, "slots": dict(line, commit="def", others_cores=0.1, seconds=180)}
    (tmp_path / "campaign.json").write_text(json.dumps(dict(parts=parts)))
    results = read_results(tmp_path)
    for sentence in ("commits abc, def", "used 0.20 cores", "4:00 min in all", "A quick campaign"):
        assert sentence in when_text(results, True)
    assert "A quick campaign" not in when_text(results, False)
    assert any("during queue:" in caveat for caveat in caveats_of(results))


@pytest.mark.parametrize("runs, sentence", [(2, "phases, cm1: 2 runs, 50 %"), (3, "phases, cm1: 3 runs, 75 %"), (5, "phases, cm1: 5 runs, 94 %"),
                                            (1, "phases, cm1: 1 run, no interval"), (6, "")])
def test_intervals_of_few_runs_are_told(tmp_path, runs, sentence):
    write(tmp_path, "phases", dict(report(), details=[dict(runs=[dict()] * runs), dict(runs=[dict()] * 7)]))
    write(tmp_path, "cm1", dict(report(), details=[dict(runs=dict(fpp=[dict()] * 7, damaris=[dict()] * runs))]))
    write(tmp_path, "slots", dict(report(), details=[dict(mb_per_busy_s=[1.0] * 6)]))
    last = list(caveats_of(read_results(tmp_path)))[-1]
    assert sentence in last and ("few runs" in last) == bool(sentence) and "slots:" not in last and ", slots" not in last


@pytest.mark.parametrize("kernel, libc, told", [(32, 384, True), (384, 32, True), (32, 48, False), (32, 0, False), (-1, 32, False)])
def test_a_cache_that_the_c_library_takes_for_another_size_is_told(tmp_path, kernel, libc, told):
    machine = dict(MACHINE, last_level_cache_bytes=kernel << 20, cache_of_libc_bytes=libc << 20)
    write(tmp_path, "write", dict(report(), machine=machine))
    sentence = f"The C library takes the cache for {libc} MiB, and its memcpy goes past the caches only beyond 0.75 of that"
    assert any(sentence in caveat for caveat in caveats_of(read_results(tmp_path))) == told


@pytest.mark.parametrize("compiler, told", [("12.2.0", "; Damaris 0.1.0, compiled by gcc 12.2.0."),
                                            ("Clang 16.0.6", "; Damaris 0.1.0, compiled by Clang 16.0.6."), (None, "; Damaris 0.1.0.")])
def test_the_machine_is_told_with_its_kernel_s_version_and_the_compiler(tmp_path, compiler, told):
    machine = dict(MACHINE, system="Linux 6.18.44-some-build", **({"compiler": compiler} if compiler else {}))
    write(tmp_path, "write", dict(report(), machine=machine))
    text = machine_text(read_results(tmp_path))
    assert text.endswith(f", Linux 6.18.44{told}")


def phases(**wall_s):
    """Details of runs with a storage of 100MB/s, in seconds."""
    details = [dict(way=way.replace("_", "-"), storage="100MB/s", runs=[dict(wall_s=one) for one in times]) for way, times in wall_s.items()]
    return dict(report(), settings=dict(ranks=2, writers=1), details=details)


def test_whole_runs_and_rates_of_storages_are_told(tmp_path):
    write(tmp_path, "phases", phases(file_per_process=[11.2, 14, 10], collective=[11.3], adios2=[1], damaris=[6.4, 6.4]))
    told = " ".join(caveats_of(read_results(tmp_path)))
    assert "Whole runs of phases, storage 100MB/s: file per process 11.2 s, collective 11.3 s, damaris 6.4 s." in told
    assert "dedicated core, 1 of 2 ranks, is charged" in told and "at a storage of 100MB/s is proportional to one over that rate" in told
    assert "phases-shared" not in told


@pytest.mark.parametrize("rate, told", [(71e6, True), (0, False)])
def test_a_storage_that_cm1_chose_itself_is_told_as_chosen(tmp_path, rate, told):
    settings = dict(cores=2, part_of_a_core=1, outputs=6, repeats=2, storage_bytes_per_s=rate)
    write(tmp_path, "cm1", dict(report(), settings=settings, points=[]))
    results = read_results(tmp_path)
    sentence = "chosen so that with the smallest multiplier of the work the output takes twice the compute time"
    assert (sentence in " ".join(pays_text(results).split())) == told
    assert (sentence in " ".join(caveats_of(results))) == told
