"""Each finding on a real program that has the habit (habits.c), and on its twin, which does the same work without it."""

import pytest
from recorded import PROGRAMS, launched, one_of_several, run, why_no_strace

from damaris import verbs
from damaris.findings import RULES

OF_RANKS = ("I1", "I6", "I8")
# Each write() takes 30 ms, so that what this machine does beside it is little; some pwrite() of the bad ones take 0.3 s.
DELAYED = {"I7": "4", "I9": "16..18"}


def recorded(code, how, place):
    """The recording of one."""
    folder = place / "work"
    folder.mkdir()
    (folder / "input").write_bytes(bytes(16 << 20))
    words = ["damaris", "record", "-o", place / "run", PROGRAMS / "recorded_habits", code, how]
    if code in DELAYED:
        slow = ["-e", f"inject=pwrite64:delay_enter=300000:when={DELAYED[code]}"] if how == "bad" else []
        words = ["strace", "-f", "-qq", "-o", place / "strace", "-e", "trace=write,pwrite64", "-e", "inject=write:delay_enter=30000", *slow, *words]
    done = run(launched(words, 2 if code in OF_RANKS else 0), folder)
    assert done.status == 0, done.err.decode()
    return place / "run"


def codes(recording, capsys):
    capsys.readouterr()
    verbs.run("report", [str(recording), "--codes"])  # a process of its own would spend most time on starting
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("code", RULES)
def test_the_habit_is_found_and_its_twin_is_not(code, tmp_path, capsys):
    if code in DELAYED and why_no_strace():
        pytest.skip(f"SKIP: nothing delays a write: {why_no_strace()}")
    bad = one_of_several(lambda place: codes(recorded(code, "bad", place), capsys), tmp_path / "bad", lambda found: code in found)
    good = one_of_several(lambda place: codes(recorded(code, "good", place), capsys), tmp_path / "good", lambda found: code not in found)
    assert code in bad and code not in good, (bad, good)
