"""What is said of each budget: its rows with a verdict, and where the aim is missed the sentence why.

Used by: the page and the documents. Before it: results, remarks.toml. After it: groups of lines.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from budgets import BUDGETS
from quotients import mark
from results import ABSENT
from running import LEFT_OUT

STATES = {"*": "aim reached", "+": "good", "": "missed"}
UNSURE = ", not surely"  # the figure is there, the unfavourable end of its interval is not
ORDER = ["aim reached", "aim reached" + UNSURE, "good", "good" + UNSURE, "missed", ABSENT, LEFT_OUT]


@dataclass(frozen=True)
class Line:
    part: str
    name: str
    state: str  # of ORDER
    figure: str = ""
    interval: str = ""
    cpu: str = ""  # the figure by processor time instead of wall time
    good: str = ""
    aim: str = ""
    why: str = ""  # the aim is missed, or there is no figure; '' says that nobody has written it down


def read_remarks(path=Path(__file__).with_name("remarks.toml")):
    """[(pattern of part, pattern of name, sentence), ...]; the first that matches counts."""
    return [(one.get("part", ".*"), one["rows"], " ".join(one["why"].split())) for one in tomllib.loads(path.read_text())["remark"]]


def groups_of(results, remarks):
    """[(title, lines), ...]: the budgets in their order, then the rows of each part that belong to none."""
    groups, used = [], set()
    for title, wanted in BUDGETS:
        groups.append((title, [line for one in wanted for line in lines_of(one, results, remarks, used)]))
    for name, result in results.items():
        rows = result.report["rows"] if result.report else []
        rest = [line_of(name, row, remarks) for row in rows if (name, row["name"]) not in used]
        if rest:
            groups.append((f"Beside the budgets: {name}", rest))
    return groups


def lines_of(wanted, results, remarks, used):
    result = results[wanted.part]
    rows = [row for row in (result.report["rows"] if result.report else []) if re.fullmatch(wanted.rows, row["name"])]
    used.update((wanted.part, row["name"]) for row in rows)
    if not rows:
        return [Line(wanted.part, wanted.name, ABSENT if result.report else result.absent, why=wanted.absent if result.report else result.why)]
    return [line_of(wanted.part, row, remarks) for row in rows]


def line_of(part, row, remarks):
    low, high = row["interval"]
    return Line(part, row["name"], state_of(row), number(row["ratio"]), number(low) if low == high else f"{number(low)} to {number(high)}",
                cpu_text(part, row), number(row["good"]), number(row["aim"]), "" if mark(row) == "*" else why(remarks, part, row["name"]))


def state_of(row):
    """What the figure reaches, and whether the worse end of its interval does so too."""
    worse = row["interval"][0 if row["better"] == "higher" else 1]
    reached = mark(row)
    sure = not reached or mark(dict(row, ratio=worse)) in ("*", reached)
    return STATES[reached] + ("" if sure else UNSURE)


def cpu_text(part, row):
    """phases counts the computing ranks' alone, and leaves the dedicated core out: no figure to stand beside these."""
    return "" if part.startswith("phases") or "cpu_ratio" not in row else number(row["cpu_ratio"])


def why(remarks, part, name):
    for part_pattern, pattern, sentence in remarks:
        if re.fullmatch(part_pattern, part) and re.fullmatch(pattern, name):
            return sentence
    return ""


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def counted(groups):
    """'12 aim reached; 5 good; ...' for all lines."""
    states = [line.state for _, lines in groups for line in lines]
    return "; ".join(f"{states.count(state)} {state}" for state in ORDER if state in states) or "no rows"
