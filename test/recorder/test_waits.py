"""Each finding of communication on a real program that has the habit (waits.c), and on its twin, which does the same work without it."""

import os
import subprocess

import pytest
from recorded import FLAVOUR, PROGRAMS, launched, one_of_several, record, run
from test_programs import MELT

import damaris
from damaris.communication import RULES
from damaris.facts import Facts
from damaris.findings import find
from damaris.timeline import Timeline


def found_in(words, place, ranks):
    done = record(words, place, ranks)
    assert done.status == 0, done.err.decode()
    return {one.code: one for one in find(Facts(done.tables)) if one.code in RULES}


@pytest.mark.parametrize("code", RULES)
def test_the_habit_is_found_and_its_twin_is_not(code, tmp_path):
    def recorded(how):
        return lambda place: found_in([PROGRAMS / "recorded_waits", code, how], place, 4)

    def alarms(found):
        """Where others use the cores, too, a process that waits for one is a late sender for a moment."""
        return [one for one in found.values() if one.severity != "low" or one.seconds > bad[code].seconds / 4]

    bad = one_of_several(recorded("bad"), tmp_path / "bad", lambda found: code in found)
    assert code in bad, bad
    good = one_of_several(recorded("good"), tmp_path / "good", lambda found: not alarms(found))
    assert alarms(good) == [], good


@pytest.mark.skipif(FLAVOUR != "openmpi" or len(os.sched_getaffinity(0)) < 2, reason="SKIP: this needs LAMMPS with Open MPI, and a core for each of two ranks")
def test_lammps_gives_no_false_alarm(tmp_path):
    def recorded(place):
        (place / "work").mkdir()
        (place / "work/in.melt").write_text(MELT)
        return [one for one in found_in(["lmp", "-in", "in.melt"], place, 2).values() if one.severity == "high"]

    assert one_of_several(recorded, tmp_path, lambda high: not high) == []


def why_no_hosts():
    """"": a process here can have a host name of its own."""
    done = subprocess.run(["unshare", "--uts", "hostname", "other"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


@pytest.mark.skipif(bool(why_no_hosts()), reason=f"SKIP: {why_no_hosts()}")
def test_processes_of_two_hosts_are_told_apart_and_meet(tmp_path):
    def recorded(place):
        (place / "work").mkdir()
        program = f'hostname node$((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} / 2)); exec damaris record -o "{place}/run" "{PROGRAMS}/recorded_waits" C4 bad'
        done = run(launched(["unshare", "--uts", "sh", "-c", program], 4), place / "work")
        assert done.status == 0, done.err.decode()
        return Timeline(damaris.open(place / "run"))

    def most_costly(line):
        return max(line.findings(), key=lambda one: one["seconds"], default={"code": "none"})["code"]

    line = one_of_several(recorded, tmp_path, lambda line: most_costly(line) == "C4")
    assert line.about()["rows"] == ["rank 0 on node0", "rank 1 on node0", "rank 2 on node1", "rank 3 on node1"]
    assert line.about()["losses"] == ["times are by the clocks of 2 hosts, how far these differ is not known"]
    assert line.rows_of("select count(*) from messages") == [(2 * 3 * 40,)]
    assert most_costly(line) == "C4"
