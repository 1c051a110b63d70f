"""What the tests of the package share: a recording to fill, and the numbers of functions."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import damaris
from damaris import kernel, verbs


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
def verb(run, capsys, monkeypatch):
    """verb("info", ...): its exit status, output and complaints."""
    monkeypatch.chdir(run.parent)

    def call(verb, *words):
        status, said = 0, ""
        capsys.readouterr()
        try:
            verbs.run(verb, [str(word) for word in words])
        except SystemExit as end:
            status, said = (end.code, "") if isinstance(end.code, int) else (1, end.code)
        output, complaints = capsys.readouterr()
        return status, output, complaints + said

    return call
