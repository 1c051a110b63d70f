"""From how many runs the intervals of a part come, and what they then say: few runs have no interval of 95 %.

Used by: caveats.py. Before it: reports. After it: words.
"""

WANTED = 0.95
LISTS = ("runs", "mb_per_busy_s", "time_to_solution_s")  # of a detail: an element for each run


def runs_of(report):
    """The least number of runs of any detail; 0 where the report does not tell."""
    found = [len(runs) for detail in report["details"] if isinstance(detail, dict) for runs in lists_of(detail)]
    return min(found, default=0)


def lists_of(detail):
    for key in LISTS:
        value = detail.get(key, [])
        yield from (one for one in (value.values() if isinstance(value, dict) else [value]) if one)


def surely(runs):
    """How likely the median is between the least and the greatest of so many runs."""
    return 1 - 2 / 2**runs


def few_text(results):
    """'phases (3 runs): ...' for the parts of too few runs; '' without any."""
    parts = {}
    for name, result in results.items():
        runs = runs_of(result.report) if result.report else 0
        if runs and surely(runs) < WANTED:
            parts.setdefault(runs, []).append(name)
    if not parts:
        return ""
    counts = "; ".join(f"{', '.join(names)}: {count_text(runs)}" for runs, names in sorted(parts.items()))
    return f"parts of few runs, where it goes from the least to the greatest of them ({counts})"


def count_text(runs):
    return f"{runs} runs, {100 * surely(runs):.0f} %" if runs > 1 else "1 run, no interval"
