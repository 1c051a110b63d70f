"""How bench all runs a part, with small programs in the place of benchmarks: it fails, is left out, is measured again, leaves children."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_results import ROOT, report  # first: it says where the others are
from rich.console import Console

import campaign
import run_cm1
from caveats import caveats_of
from chapters import how
from choices import parse_arguments
from document import texts_of
from parts import PARTS
from results import read_results
from running import DONE, FAILED, LEFT_OUT, Ended, run_part
from shown import Shown
from verdicts import counted, groups_of
from whole_page import verdict_table

REPORT = json.dumps(report())
RUNS_WELL = f"echo '{REPORT}' > $1"
HAS_NO_CORES = "echo some words; echo no parts of cores: only root may set a quota; exit 77"
FAILS = "echo broken; exit 3"


def run(tmp_path, script, tick=lambda: None):
    return run_part(PARTS[0], ["sh", "-c", script], tmp_path / "log", True, tick)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("script, ended", [("true", Ended(DONE)), (FAILS, Ended(FAILED, "it ended with 3: broken")),
                                           (HAS_NO_CORES, Ended(LEFT_OUT, "no parts of cores: only root may set a quota")),
                                           ("exit 77", Ended(LEFT_OUT, "it gave no reason"))])
def test_a_part_is_done_fails_or_is_left_out_with_a_reason(tmp_path, script, ended):
    assert run(tmp_path, script) == ended


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "kill -KILL $$"])
def test_what_a_part_leaves_running_is_ended_also_in_a_group_of_its_own(tmp_path, end):
    run(tmp_path, f"sleep 300 & echo $!; set -m; sleep 301 & echo $!; {end}")
    pids = [int(word) for word in re.findall(r"^\d+$", (tmp_path / "log").read_text(), re.MULTILINE)]
    assert len(pids) == 2 and not any(map(is_running, pids))


def test_a_run_has_ended_when_the_processes_that_outlive_its_launcher_have(monkeypatch):
    monkeypatch.setattr(run_cm1, "END_S", 0.5)
    script = "set -m; sh -c 'sleep 0.2' & echo $!; sleep 302 & echo $!; trap 'exit 1' TERM; echo ready; wait"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        soon, late = int(process.stdout.readline()), int(process.stdout.readline())
        assert process.stdout.readline() == "ready\n" and is_running(late)
        run_cm1.end_group(process)
    assert process.returncode == 1 and not is_running(soon) and not is_running(late)


def test_a_part_that_does_not_heed_an_interrupt_is_ended_by_the_second_one(tmp_path):
    start = time.monotonic()

    def interrupt():
        assert time.monotonic() - start < 60, (tmp_path / "log").read_text()
        if (tmp_path / "begun").exists():
            raise KeyboardInterrupt

    def second(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, second)
    try:
        with pytest.raises(KeyboardInterrupt):
            # Asked to end, it sends the second one instead.
            run(tmp_path, f"trap 'kill -ALRM $PPID' TERM; echo $$; touch '{tmp_path}/begun'; while :; do sleep 0.1; done", interrupt)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not is_running(int((tmp_path / "log").read_text()))


def measure(monkeypatch, folder, script):
    """cm1-parts alone, by a script that gets the name of the JSON. Returns the parts that failed, and what was said."""
    monkeypatch.setattr(campaign, "command_line", lambda part, new, *_, **__: ["sh", "-c", script, "sh", str(new)])
    options = parse_arguments("", ["--results", str(folder), "--only", "cm1-parts"])
    with open(folder.parent / "said", "w+") as said:
        failed = campaign.Campaign(options).measure(Shown(Console(file=said, highlight=False), folder, False))
        said.seek(0)
        return failed, said.read()


def test_two_campaigns_do_not_measure_in_one_folder(monkeypatch, tmp_path):
    (tmp_path / "results").mkdir()
    with campaign.alone_in(tmp_path / "results"), pytest.raises(campaign.InUse, match="give another --results"):
        measure(monkeypatch, tmp_path / "results", RUNS_WELL)
    assert not list((tmp_path / "results").iterdir())
    assert measure(monkeypatch, tmp_path / "results", RUNS_WELL)[0] == []


def test_a_part_that_is_left_out_has_not_failed_and_says_why_everywhere(monkeypatch, tmp_path):
    failed, said = measure(monkeypatch, tmp_path / "results", HAS_NO_CORES)
    assert not failed and "cm1-parts: left out: no parts of cores: only root may set a quota" in said
    results = read_results(tmp_path / "results")
    groups, why = groups_of(results, []), "no parts of cores: only root may set a quota"
    assert "2 left out" in counted(groups) and results["cm1-parts"].record["left_out"] == why
    assert '<td class="left-out">left out</td>' in verdict_table(groups) and why in verdict_table(groups)
    texts = texts_of(results, groups, False)
    assert f"| left out: {why} |" in texts["figures"] and f"left out: {why}." in texts["when it pays"]
    assert how(results["cm1-parts"]) == f"Left out: {why}."


@pytest.mark.parametrize("script, told", [(FAILS, "failed: it ended with 3: broken; the figures are the earlier ones"),
                                          (HAS_NO_CORES, "left out: no parts of cores: only root may set a quota; the figures are the")])
def test_a_part_that_was_measured_again_in_vain_is_told_until_it_succeeds(monkeypatch, tmp_path, script, told):
    folder = tmp_path / "results"
    assert not measure(monkeypatch, folder, RUNS_WELL)[0]
    measure(monkeypatch, folder, script)
    results = read_results(folder)
    assert told in how(results["cm1-parts"]) and any(told in caveat for caveat in caveats_of(results))
    assert results["cm1-parts"].report and "seconds" in results["cm1-parts"].record
    measure(monkeypatch, folder, RUNS_WELL)
    assert "earlier" not in how(read_results(folder)["cm1-parts"])


def test_a_lost_terminal_ends_it_like_an_interrupt_and_nohup_keeps_it(tmp_path):
    bench = ROOT / "bench" / "all"
    script = (f"import signal, sys; sys.path.insert(0, {str(bench)!r}); import bench_all; "
              "bench_all.end_like_an_interrupt(); print(repr(signal.getsignal(signal.SIGHUP)))")
    plain = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, timeout=60)
    ignoring = subprocess.run(["nohup", sys.executable, "-B", "-c", script], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
    assert "default_int_handler" in plain.stdout, plain.stderr
    assert "SIG_IGN" in ignoring.stdout, ignoring.stderr
