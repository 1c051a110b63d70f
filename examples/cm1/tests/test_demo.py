"""The demo from outside: what it prints, what it leaves, and how it fails."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[1] / "demo.py"


def demo(*arguments, **environment):
    return subprocess.run([sys.executable, "-B", DEMO, *map(str, arguments)], env={**os.environ, **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder with spaces")
    done = demo("--quick", "--output", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, folder


def test_one_table_has_a_row_for_each_back_end(quick):
    text, _ = quick
    assert text.count("time to") == 1
    assert row_of(text, "none")[-2:] == ["0", "0.0"]
    for label, files in (("file per process", "20"), ("collective HDF5", "5"), ("damaris", "10")):
        assert row_of(text, label)[-2] == files
        assert row_of(text, label).count("ms") == 2


def row_of(text, label):
    [row] = [line.split() for line in text.splitlines() if line.strip().startswith(label + "  ") and line.strip()[-1].isdigit()]
    return row


def test_text_fits_80_columns_and_ends_clearly(quick):
    text, folder = quick
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line)
    assert text.splitlines()[-1] == "demo: done"
    assert "to the last bit" in text


def test_files_and_picture_lie_where_it_says(quick):
    text, folder = quick
    for name in ("fpp", "collective", "damaris"):
        assert str(folder / name) in text
        assert list((folder / name).glob("*.h5"))
    picture = folder / "storm.png"
    assert str(picture) in text
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and picture.stat().st_size > 20000


def test_a_run_that_fails_ends_the_demo_with_the_tail_of_its_log(tmp_path):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho the reason why >&2\nexit 3\n")
    program.chmod(0o755)
    done = demo("--quick", "--output", tmp_path / "out", CM1_PROGRAM=str(program))
    assert done.returncode == 1
    assert "the reason why" in done.stdout and "log.txt" in done.stdout
    assert "demo: done" not in done.stdout


def test_an_interrupted_demo_ends_its_run(tmp_path):
    program = tmp_path / "slow"
    program.write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid.tmp' && mv '{tmp_path}/pid.tmp' '{tmp_path}/pid'\nexec sleep 100\n")
    program.chmod(0o755)
    with subprocess.Popen([sys.executable, "-B", DEMO, "--quick", "--output", tmp_path / "out"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "CM1_PROGRAM": str(program)}) as process:
        wait_until((tmp_path / "pid").exists)
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=100)
    assert process.returncode == 130 and "interrupted" in text
    pid = (tmp_path / "pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def wait_until(condition, limit_s=100):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"not so after {limit_s} s"
        time.sleep(0.05)


def test_a_program_that_is_not_built_is_named(tmp_path):
    done = demo("--output", tmp_path, CM1_PROGRAM=str(tmp_path / "cm1"))
    assert done.returncode == 1
    assert "./dev build" in done.stdout


@pytest.mark.parametrize("arguments, code, text", [
    (["--help"], 0, "--quick"),
    (["--backends", "fpp,netcdf"], 2, "choose among none,fpp,collective,damaris"),
])
def test_options_explain_themselves(arguments, code, text):
    done = demo(*arguments)
    assert done.returncode == code
    assert text in done.stdout + done.stderr


def test_an_output_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = demo("--quick", "--output", tmp_path / "file")
    assert done.returncode == 1
    assert "demo: failed" in done.stdout and str(tmp_path / "file")[-20:] in done.stdout.replace("\n", "")
