"""What is said of each budget: its rows with a verdict, and where the aim is missed the sentence why.

Used by: the page and the documents. Before it: results, remarks.toml. After it: groups of lines.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from budgets import BUDGETS
from quotients import mark

STATES = {"*": "aim reached", "+": "good", "": "missed"}
ABSENT = "not measured"


@dataclass(frozen=True)
class Line:
    part: str
    name: str
    state: str  # of STATES, or ABSENT
    figure: str = ""
    interval: str = ""
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
        return [Line(wanted.part, wanted.name, ABSENT, why=wanted.absent if result.report else result.why)]
    return [line_of(wanted.part, row, remarks) for row in rows]


def line_of(part, row, remarks):
    state = STATES[mark(row)]
    low, high = row["interval"]
    return Line(part, row["name"], state, number(row["ratio"]), number(low) if low == high else f"{number(low)} to {number(high)}",
                number(row["good"]), number(row["aim"]), "" if state == STATES["*"] else why(remarks, part, row["name"]))


def why(remarks, part, name):
    for part_pattern, pattern, sentence in remarks:
        if re.fullmatch(part_pattern, part) and re.fullmatch(pattern, name):
            return sentence
    return ""


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def counted(groups):
    """'12 reach their aim, 5 are good, ...' for all lines."""
    states = [line.state for _, lines in groups for line in lines]
    words = {"aim reached": "reach the aim", "good": "are good", "missed": "miss what is good", ABSENT: "have no figure"}
    return ", ".join(f"{states.count(state)} {text}" for state, text in words.items() if state in states) or "no rows"
