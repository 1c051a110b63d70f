"""baseline.json: what was measured when all was well, and the margins.

Used by: guard.py. Before it: the file, whose form README.md tells. After it: verdicts, or the file written anew.
"""

import json
from dataclasses import dataclass, field

from failure import Failure
from toolchain import KEYS

MARGINS = {"counts": 1.02, "write": 2, "queue": 3, "persist": 2.5, "reduce": 2.5, "sizes": 1.05}  # of a baseline that is made first
MARGIN_ELSEWHERE = 2  # of counts, with another toolchain


@dataclass
class Baseline:
    toolchain: dict = field(default_factory=dict)
    margins: dict = field(default_factory=lambda: dict(MARGINS))
    margin_elsewhere: float = MARGIN_ELSEWHERE
    rows: dict = field(default_factory=lambda: {group: {} for group in MARGINS})  # by group, then by name

    def margin(self, group, same_toolchain):
        return self.margin_elsewhere if group == "counts" and not same_toolchain else self.margins[group]


def read_baseline(path):
    try:
        found = json.loads(path.read_text())
        groups = {group: found["groups"][group] for group in MARGINS}
        baseline = Baseline({key: found["toolchain"][key] for key in KEYS}, {group: float(one["margin"]) for group, one in groups.items()},
                            float(groups["counts"]["margin_elsewhere"]),
                            {group: {name: float(value) for name, value in one["rows"].items()} for group, one in groups.items()})
        if not baseline.rows["counts"] or min(baseline.margins.values()) < 1:
            raise ValueError("it needs counts, and margins of 1 or more")
        return baseline
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as why:
        reason = f"it has no {why}" if isinstance(why, KeyError) else why
        raise Failure(f"{path} is not a baseline: {reason}; git checkout brings back that of the last commit, ./dev bench --quick --update "
                      "makes another one") from why


def write_baseline(path, baseline):
    groups = {group: dict(margin=baseline.margins[group], rows=rows) for group, rows in baseline.rows.items()}
    groups["counts"] = dict(margin=baseline.margins["counts"], margin_elsewhere=baseline.margin_elsewhere, rows=baseline.rows["counts"])
    path.write_text(json.dumps(dict(toolchain=baseline.toolchain, groups=groups), indent=1) + "\n")


def updated(old, toolchain, measured):
    """A baseline of the groups that were measured; of other groups the old rows stay."""
    rows = {group: dict(values) for group, values in old.rows.items()}
    for group in {row.group for row in measured}:
        rows[group] = {row.name: float(f"{row.now:.6g}") for row in measured if row.group == group}
    return Baseline(toolchain, old.margins, old.margin_elsewhere, rows)


def changes(old, new):
    """A line for each row that is not as it was."""
    for group in new.rows:
        before, after = old.rows[group], new.rows[group]
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                yield name, before.get(name), after.get(name)
