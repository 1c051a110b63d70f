"""Decides whether a row is worse than the baseline, and makes the sentence that reports it.

Used by: guard.py. Before it: what was measured, and the baseline. After it: the table, the sentences, the exit status.
"""

from dataclasses import dataclass

FAILED = ("WORSE", "gone")


@dataclass(frozen=True)
class Measured:
    group: str
    name: str
    now: float
    better: str = "lower"  # or "higher"


@dataclass(frozen=True)
class Verdict:
    """One row of the table and of --json; None is a number that there is not."""

    group: str
    name: str
    better: str
    baseline: float | None
    now: float | None
    allowed: float | None
    state: str  # ok, better, new, WORSE, gone


def judge(row, baseline, margin):
    """`baseline`: None for a row it does not have."""
    if baseline is None:
        return Verdict(row.group, row.name, row.better, None, row.now, None, "new")
    lower = row.better == "lower"
    allowed, praised = (baseline * margin, baseline / margin) if lower else (baseline / margin, baseline * margin)
    sign = 1 if lower else -1
    state = "WORSE" if sign * row.now > sign * allowed else "better" if sign * row.now < sign * praised else "ok"
    return Verdict(row.group, row.name, row.better, baseline, row.now, allowed, state)


def gone(group, name, baseline):
    return Verdict(group, name, "", baseline, None, None, "gone")


def best(first, second):
    """Of two runs of a benchmark, row by row; a row that only one of them has stays."""
    rows = {row.name: row for row in first}
    for row in second:
        other = rows.get(row.name, row)
        rows[row.name] = (min if row.better == "lower" else max)(row, other, key=lambda one: one.now)
    return list(rows.values())


def figure(number):
    return "-" if number is None else f"{number:.1f}" if number >= 100 else f"{number:.3g}"


def sentence(verdict):
    """What a user should read about a row that has changed; '' if it has not."""
    was, now = figure(verdict.baseline), figure(verdict.now)
    unit = " instructions" if verdict.group == "counts" else ""
    if verdict.state == "WORSE":
        bound = "most" if verdict.better == "lower" else "least"
        return (f"{verdict.name} is worse: {now}{unit}, baseline {was}, at {bound} {figure(verdict.allowed)} allowed. Fix it, or, if it is "
                "worth the cost, run ./dev bench --quick --update and give the reason in the commit message.")
    if verdict.state == "gone":
        return (f"{verdict.name} is gone: baseline {was}, and nothing measures it any more. Fix it, or run ./dev bench --quick --update "
                "and give the reason in the commit message.")
    if verdict.state == "better":
        return f"{verdict.name} is better: {now}{unit}, baseline {was}; ./dev bench --quick --update makes this the new baseline."
    if verdict.state == "new":
        return f"{verdict.name} is new: {now}{unit}; ./dev bench --quick --update adds it to the baseline."
    return ""
