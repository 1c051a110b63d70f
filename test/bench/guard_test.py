"""The guard as its users see it, by its counts alone: they are the same on a machine that others use."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GUARD = Path(__file__).resolve().parents[2] / "bench" / "guard"
pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")


def guard(*arguments, **environment):
    return subprocess.run([sys.executable, "-B", GUARD / "guard.py", "--quick", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=1000, env=dict(os.environ, **environment))


def words(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A baseline of this machine, and what the guard said when it made it."""
    path = tmp_path_factory.mktemp("made") / "baseline.json"
    done = guard("--counts", "--update", "--baseline", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text()), done.stdout


def stored(folder, baseline):
    path = folder / "baseline.json"
    path.write_text(json.dumps(baseline))
    return path


def copy_of(baseline):
    return json.loads(json.dumps(baseline))


def test_an_update_counts_every_kind_and_says_what_has_changed(made):
    baseline, said = made
    counts = baseline["groups"]["counts"]["rows"]
    assert list(counts) == ["dc_write_to 64 B", "dc_write_to 64 B, first of a step", "dc_write 64 B, by name",
                            "dc_alloc + dc_commit 64 B, by name", "dc_write_to 64 B, shared pool"]
    # What makes a write dearer is in its count.
    plain = counts["dc_write_to 64 B"]
    assert all(100 < plain < count for name, count in counts.items() if name != "dc_write_to 64 B"), counts
    assert all(name in said for name in counts) and "5 rows that have changed" in words(said)


def test_counts_are_the_same_again_in_another_environment_and_a_worse_and_a_better_one_are_told(made, tmp_path):
    changed = copy_of(made[0])
    rows = changed["groups"]["counts"]["rows"]
    worse, better = "dc_write_to 64 B", "dc_write 64 B, by name"
    rows[worse] *= 0.97
    rows[better] *= 1.03
    done = guard("--counts", "--baseline", stored(tmp_path, changed), "--json", tmp_path / "report.json", LENGTHS="counted" * 100)
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    found = {row["name"]: row for row in report["rows"]}
    assert {name: row["now"] for name, row in found.items()} == pytest.approx(made[0]["groups"]["counts"]["rows"], rel=1e-5)
    assert {name: row["state"] for name, row in found.items() if row["state"] != "ok"} == {worse: "WORSE", better: "better"}
    assert report["same_toolchain"] is True
    now = made[0]["groups"]["counts"]["rows"][worse]
    assert f"{worse} is worse: {now:.1f} instructions, baseline {rows[worse]:.1f}, at most {rows[worse] * 1.02:.1f}" in words(done.stdout)
    assert "./dev bench --quick --update" in words(done.stdout)
    assert f"{better} is better:" in words(done.stdout)


def test_with_another_compiler_counts_get_the_wide_margin_and_it_is_said(made, tmp_path):
    changed = copy_of(made[0])
    changed["toolchain"]["compiler"] = "Other 1.0"
    rows = changed["groups"]["counts"]["rows"]
    for name in rows:
        rows[name] *= 0.9
    done = guard("--counts", "--baseline", stored(tmp_path, changed))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wide margin" in words(done.stdout) and "baseline Other 1.0" in words(done.stdout)
    assert "WORSE" not in done.stdout


@pytest.mark.parametrize("spoil, sentence", [
    (lambda b: b["groups"].pop("queue"), "it has no 'queue'"), (lambda b: b["groups"]["counts"].pop("margin"), "it has no 'margin'"),
    (lambda b: b["groups"]["write"]["rows"].update(a="fast"), "'fast'"), (lambda b: b["groups"]["write"].update(margin=0.5), "1 or more"),
    (lambda b: b["groups"]["counts"].update(rows={}), "it needs counts"), (lambda b: b.update(groups=[]), "is not a baseline")])
def test_a_broken_baseline_is_an_error_that_says_what_is_wrong_and_what_to_do(made, tmp_path, spoil, sentence):
    changed = copy_of(made[0])
    spoil(changed)
    path = stored(tmp_path, changed)
    done = guard("--counts", "--baseline", path)
    assert done.returncode == 1 and not done.stdout
    assert f"{path} is not a baseline" in words(done.stderr) and sentence in words(done.stderr)
    assert "./dev bench --quick --update" in words(done.stderr) and "Traceback" not in done.stderr


def test_an_update_mends_a_baseline_that_cannot_be_read(tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text("{")
    done = guard("--counts", "--update", "--baseline", path)
    assert done.returncode == 0 and "starts a new baseline" in done.stderr, done.stdout + done.stderr
    assert len(json.loads(path.read_text())["groups"]["counts"]["rows"]) == 5


def test_told_to_stop_it_leaves_no_folder_no_memory_and_no_process(tmp_path, made):
    # Which processes are left is looked at by scripts/bounded.
    (tmp_path / "runs").mkdir()
    with subprocess.Popen([sys.executable, "-B", GUARD / "guard.py", "--quick", "--counts", "--baseline", stored(tmp_path, made[0])],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, TMPDIR=str(tmp_path / "runs"))) as process:
        regions = f"damaris.{os.geteuid()}.bench-{process.pid}.*"
        while process.poll() is None and not list(Path("/dev/shm").glob(regions)):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=200)
    assert process.returncode == 130 and "nothing is left running" in said
    assert not list((tmp_path / "runs").iterdir()) and not list(Path("/dev/shm").glob(regions))


def test_a_baseline_that_is_cut_off_or_missing_is_an_error_too(tmp_path):
    (tmp_path / "cut.json").write_text('{"toolchain": {')
    for name in ("cut.json", "missing.json"):
        done = guard("--counts", "--baseline", tmp_path / name)
        assert done.returncode == 1 and f"{tmp_path / name} is not a baseline" in words(done.stderr), done.stderr


def test_without_valgrind_it_is_skipped_with_the_reason(tmp_path):
    done = guard(PATH=str(tmp_path))
    assert done.returncode == 77
    assert done.stdout.startswith("SKIP: valgrind is not installed")


def test_wrong_usage_ends_with_2():
    assert guard("--nonsense").returncode == 2
    done = guard("--json", "/nonexistent/report.json")
    assert done.returncode == 2 and "there is no folder" in done.stderr
