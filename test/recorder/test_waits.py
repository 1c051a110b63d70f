"""Each finding of communication on a real program that has the habit (waits.c), and on its twin, which does the same work without it."""

import os

import pytest
from recorded import FLAVOUR, PROGRAMS, record
from test_programs import MELT

from damaris.communication import RULES
from damaris.facts import Facts
from damaris.findings import find


def found_in(words, place, ranks):
    place.mkdir(exist_ok=True)
    done = record(words, place, ranks)
    assert done.status == 0, done.err.decode()
    return {one.code: one for one in find(Facts(done.tables)) if one.code in RULES}


@pytest.mark.parametrize("code", RULES)
def test_the_habit_is_found_and_its_twin_is_not(code, tmp_path):
    bad, good = [found_in([PROGRAMS / "recorded_waits", code, how], tmp_path / how, 4) for how in ("bad", "good")]
    assert code in bad, bad
    # Where others use the cores, too, a process that waits for one is a late sender for a moment.
    assert [one for one in good.values() if one.severity != "low" or one.seconds > bad[code].seconds / 4] == [], good


@pytest.mark.skipif(FLAVOUR != "openmpi" or len(os.sched_getaffinity(0)) < 2, reason="SKIP: this needs LAMMPS with Open MPI, and a core for each of two ranks")
def test_lammps_gives_no_false_alarm(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work/in.melt").write_text(MELT)
    found = found_in(["lmp", "-in", "in.melt"], tmp_path, 2)
    assert [one for one in found.values() if one.severity == "high"] == []
