"""The results of a folder: of each part its report, or why there is none.

Used by: bench_all.py. Before it: NAME.json and campaign.json. After it: what the page and the documents are made from.
"""

import json
from dataclasses import dataclass, field

from campaign import KEYS, read_record
from parts import PARTS, Part
from running import LEFT_OUT

ROW = {"name": str, "ratio": (int, float), "better": str, "good": (int, float), "aim": (int, float), "interval": list}
ABSENT = "not measured"
TOP = {"machine": dict, "rows": list, "details": list}


class BadResult(Exception):
    """A file that is no result; the text names it and the remedy."""


@dataclass
class Result:
    part: Part
    report: dict | None = None
    why: str = "it was not run"  # there is no report
    absent: str = ABSENT  # or LEFT_OUT: what is said of one without a report
    record: dict = field(default_factory=dict)  # its line of campaign.json


def read_results(folder):
    lines = read_record(folder).get("parts", {})
    return {part.name: read_result(folder, part, lines.get(part.name, {})) for part in PARTS}


def read_result(folder, part, line):
    path = folder / f"{part.name}.json"
    if not path.exists():
        reason = line.get(KEYS[LEFT_OUT])
        return Result(part, why=reason or line.get("failed", Result.why), absent=LEFT_OUT if reason else ABSENT, record=line)
    return Result(part, read_report(path), "", record=line)


def again_text(result):
    """'... the figures are the earlier ones' where the part was tried again in vain; or ''."""
    again = result.record.get("again", {}) if result.report else {}
    for how, key in KEYS.items():
        if key in again:
            return f"measured again on {again.get('began', 'some day')} and {how}: {again[key]}; the figures are the earlier ones"
    return ""


def read_report(path):
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError) as failure:
        raise bad(path, str(failure)) from failure
    check(path, report, TOP, "the file")
    for row in report["rows"]:
        check(path, row, ROW, "a row")
        if len(row["interval"]) != 2 or not all(isinstance(end, (int, float)) for end in row["interval"]):
            raise bad(path, f"the interval of '{row['name']}' is not two numbers")
    return report


def check(path, value, keys, what):
    if not isinstance(value, dict):
        raise bad(path, f"{what} is no JSON object")
    for key, kind in keys.items():
        if not isinstance(value.get(key), kind):
            raise bad(path, f"{what} has no '{key}' as results have it")


def bad(path, what):
    return BadResult(f"{path} is no result of a benchmark: {what}; "
                     f"remove it, and ./dev bench all --results {path.parent} measures it again")
