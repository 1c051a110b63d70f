"""`damaris replay`, as a user calls it, and the evaluator from Python."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from damaris import replay
from damaris.errors import Refused

PLAN = """damaris plan 1
layer posix
recorded 20000000  # ns
file 0 4096 in/deck
file 1 0 out/a
process 0 rank 0 host n1 pid 77
r 0 0 4096 # 4000
c 10000000
b 1 500
o 1 wc # 20000
w 1 0 100000 # 30000
x 1 # 900
p 2 100
process 1 rank 1 host n1 pid 78
c 5000000
b 1 500
g 2 100
m 1 # 800
"""
DOCS = Path(os.environ.get("DAMARIS_SOURCE_DIR", Path(__file__).resolve().parents[2])) / "docs"


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan"
    path.write_text(PLAN)
    return path


@pytest.fixture
def place(tmp_path):
    """A folder that holds a file of the user's, and the check that nothing else is left in it."""
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "mine").write_text("untouched")
    yield folder
    assert [one.name for one in folder.iterdir()] == ["mine"]
    assert (folder / "mine").read_text() == "untouched"


def run(*words, **more):
    return subprocess.run(["damaris", "replay", *map(str, words)], capture_output=True, text=True, check=False, **more)


def test_evaluate_prints_and_writes_the_virtual_time(plan, tmp_path):
    done = run(plan, "--evaluate", "--json", tmp_path / "e.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "virtual time 0.010" in done.stdout and "recorded 0.020 s (-49.7 %)" in done.stdout
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80
    report = json.loads((tmp_path / "e.json").read_text())
    assert report["evaluated_seconds"] == pytest.approx(10_056_400e-9)
    assert [one["seconds"] for one in report["processes"]] == pytest.approx([10_055_500e-9, 10_056_400e-9])
    assert report["longest_waits"][0] == {"line": 16, "operation": "b 1", "process": 1, "seconds": pytest.approx(5_004_000e-9)}
    assert json.loads(run(plan, "--evaluate", "--json", "-").stdout) == report


def test_python_evaluates_a_plan_in_memory(plan):
    found = replay.evaluate(PLAN)
    report = json.loads(run(plan, "--evaluate", "--json", "-").stdout)
    assert found.total == round(report["evaluated_seconds"] * 1e9) and found.recorded == 20_000_000
    assert list(found.processes) == [0, 1] and max(found.ends) == found.total
    assert found.waits[list(found.lines).index(16)] == 5_004_000
    with pytest.raises(Refused, match=r"^plan:2: 'x' is no time in ns"):
        replay.evaluate("damaris plan 1\nrecorded x\n")


def test_a_replay_reports_its_errors_and_leaves_the_folder_as_it_was(plan, place, tmp_path):
    done = run(plan, "--on", place, "--repeat", "3", "--json", tmp_path / "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"replayed in \d+\.\d+ s \(median of 3\), recorded 0\.020 s:", done.stdout)
    assert re.search(r"^  write +1 +0\.000030 ", done.stdout, re.M) and "I/O began behind its time: p50 " in done.stdout
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80
    report = json.loads((tmp_path / "r.json").read_text())
    assert len(report["totals_seconds"]) == 3 and min(report["totals_seconds"]) >= 0.01
    assert report["total"]["recorded_seconds"] == 0.02
    kinds = {one["kind"]: one for one in report["kinds"]}
    assert kinds["write"]["bytes"] == 100000 and kinds["compute"]["error_seconds"] == 0
    assert {one["process"] for one in report["processes"]} == {0, 1}


def test_more_gaps_than_cores_are_told(place, tmp_path):
    count = (os.cpu_count() or 1) + 1
    (tmp_path / "crowd").write_text("damaris plan 1\n" + "".join(f"process {i}\nc 1000000\n" for i in range(count)))
    words = " ".join(run(tmp_path / "crowd", "--on", place).stdout.split())
    assert "In 100 % of the time more processes compute at once than there are cores here" in words


def test_keep_leaves_the_files_and_says_where(plan, tmp_path):
    done = run(plan, "--on", tmp_path, "--keep")
    folder = Path(done.stderr.removeprefix("the files are in ").strip())
    assert folder.parent == tmp_path and (folder / "out/a").stat().st_size == 100000 and (folder / "in/deck").stat().st_size == 4096


@pytest.mark.parametrize("name", ["page.html", "page.png"])
def test_the_picture_is_drawn(plan, place, tmp_path, name):
    done = run(plan, "--on", place, "-o", tmp_path / name)
    assert (done.returncode, done.stderr) == (0, "")
    start = (tmp_path / name).read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if name.endswith("png") else b"<html>" in start


def test_a_picture_needs_python_and_a_name_that_says_its_format(plan, place, tmp_path):
    done = run(plan, "--on", place, "-o", tmp_path / "page.png", env=dict(os.environ, DAMARIS_PYTHON="/nowhere/python"))
    assert done.returncode == 1 and "there is no Python; install python3, or name one in DAMARIS_PYTHON" in done.stderr
    done = run(plan, "--on", place, "-o", "page.gif")
    assert done.returncode == 2 and "the name of a picture ends with one of .html" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_replay_and_leaves_the_folder_as_it_was(place, tmp_path, number):
    (tmp_path / "long").write_text("damaris plan 1\nfile 0 100000 in\nprocess 0\nr 0 0 100\nc 100000000000\np 1 1\nprocess 1\ng 1 1\n")
    child = subprocess.Popen(["damaris", "replay", str(tmp_path / "long"), "--on", str(place)], stderr=subprocess.PIPE, text=True)
    while not list(place.glob("damaris-replay.*/in")):
        time.sleep(0.01)
    child.send_signal(number)
    _, said = child.communicate()
    assert child.returncode == 128 + number
    assert said == f"damaris replay: interrupted; '{place}' is as it was before\n"


def test_an_error_of_the_disk_names_the_line_and_leaves_the_folder_as_it_was(place, tmp_path):
    (tmp_path / "large").write_text("damaris plan 1\nfile 0 0 out\nprocess 0\no 0 wc\nw 0 0 3000000\nprocess 1\nc 100000000000\n")
    words = ["sh", "-c", 'ulimit -f 1000 && exec damaris replay "$0" --on "$1"', str(tmp_path / "large"), str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path}/large:5: 'w 0' of process 0 has failed on '{place}/damaris-replay." in done.stderr and "File too large" in done.stderr


def test_a_folder_that_cannot_be_written_is_told(plan, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("only root can make a read-only file system")
    script = 'mkdir fixed && mount -t tmpfs -o ro fixed fixed && exec damaris replay "$0" --on fixed'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, plan], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot make a folder in 'fixed': Read-only file system; name a folder" in done.stderr


def test_a_full_disk_is_an_error_too(tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    # Single bytes, each of which takes a page: the check before does not count that.
    (tmp_path / "plan").write_text("damaris plan 1\nfile 0 0 a\nprocess 0\no 0 wc\n" + "".join(f"w 0 {4096 * i} 1\n" for i in range(600)))
    script = 'mkdir small && mount -t tmpfs -o size=2m tmpfs small && damaris replay plan --on small; echo "status $?"; ls -A small; df --output=used small | tail -1'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "has failed on 'small/damaris-replay." in done.stderr and "No space left on device" in done.stderr
    assert done.stdout.split() == ["status", "1", "0"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["plan"], 2, "say either --on DIR, to do the I/O there, or --evaluate"),
        (["plan", "--evaluate", "--on", "."], 2, "say either --on DIR"),
        (["plan", "--evaluate", "-o", "a.png"], 2, "a picture with -o shows a replay"),
        (["plan", "--evaluate", "--json", "no/e.json"], 2, "there is no folder 'no' for 'no/e.json'"),
        (["nothing", "--evaluate"], 1, "cannot read the plan 'nothing'"),
        (["plan", "--on", "nowhere"], 1, "cannot make a folder in 'nowhere': No such file or directory; name a folder that can be written with --on"),
        (["bad", "--on", "."], 1, "bad:3: 'x' is no time in ns"),
        (["dead", "--on", "."], 1, "dead:3: operations wait for each other and can never be met: line 3, 'g 1' of process 0, waits for line 4, 'p 1'"),
    ],
)
def test_what_cannot_work_is_refused_with_place_cause_and_remedy(plan, tmp_path, words, status, said):
    (tmp_path / "bad").write_text("damaris plan 1\nprocess 0\nc x\n")
    (tmp_path / "dead").write_text("damaris plan 1\nprocess 0\ng 1 0\np 1 0\n")
    before = sorted(tmp_path.iterdir())
    done = run(*words, cwd=tmp_path)
    assert done.returncode == status and said in done.stderr and done.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_the_example_of_the_format_is_a_plan(tmp_path):
    [example] = re.findall(r"```\n(damaris plan 1\n.*?)```", (DOCS / "plan-format.md").read_text(), re.S)
    (tmp_path / "plan").write_text(example)
    assert replay.evaluate(example).total > 0
    assert run(tmp_path / "plan", "--on", tmp_path).returncode == 0
