"""Each finding of communication on a real program that has the habit (waits.c), and on its twin, which does the same work without it."""

import os
import subprocess

import pytest
from recorded import FLAVOUR, PROGRAMS, launched, record, run
from test_programs import MELT

import damaris
from damaris.communication import RULES
from damaris.facts import Facts
from damaris.findings import find
from damaris.timeline import Timeline


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


def why_no_hosts():
    """"": a process here can have a host name of its own."""
    done = subprocess.run(["unshare", "--uts", "hostname", "other"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


@pytest.mark.skipif(bool(why_no_hosts()), reason=f"SKIP: {why_no_hosts()}")
def test_processes_of_two_hosts_are_told_apart_and_meet(tmp_path):
    (tmp_path / "work").mkdir()
    program = f'hostname node$((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} / 2)); exec damaris record -o "{tmp_path}/run" "{PROGRAMS}/recorded_waits" C4 bad'
    done = run(launched(["unshare", "--uts", "sh", "-c", program], 4), tmp_path / "work")
    assert done.status == 0, done.err.decode()
    line = Timeline(damaris.open(tmp_path / "run"))
    assert line.about()["rows"] == ["rank 0 on node0", "rank 1 on node0", "rank 2 on node1", "rank 3 on node1"]
    assert line.about()["losses"] == ["times are by the clocks of 2 hosts, how far these differ is not known"]
    assert line.rows_of("select count(*) from messages") == [(2 * 3 * 40,)]
    assert max(line.findings(), key=lambda one: one["seconds"])["code"] == "C4"
