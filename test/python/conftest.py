"""What the tests of the package share: a recording to fill, and the numbers of functions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import damaris
from damaris import kernel


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


@pytest.fixture(scope="session")
def number():
    """number("pwrite"): its number in raw files."""
    return kernel.functions().name.index


@pytest.fixture
def rows(run):
    """rows(SQL): what a question to the recording gives."""
    return lambda sql: damaris.open(run).query(sql).fetchall()


@pytest.fixture
def verb(run):
    """verb("info", ...): its exit status, output and complaints."""

    def call(*words):
        done = subprocess.run([sys.executable, "-m", "damaris.verbs", *map(str, words)], capture_output=True, text=True, cwd=run.parent, env=os.environ)
        return done.returncode, done.stdout, done.stderr

    return call
