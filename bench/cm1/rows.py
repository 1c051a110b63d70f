"""Rows: quotients of quantiles, how sure they are (percentiles of 1000 resamplings of whole runs, as steps of one run are alike), and
their lines in a terminal.

Used by: the benchmarks in Python, the page. Before it: times of interleaved runs. After it: rows of a report.
"""

import numpy as np

RESAMPLINGS = 1000
# Of a table of rows in a terminal of 80 columns.
ROW_HEADING = f"{'(+ good is reached, * the aim)':45} {'ratio':>6} {'interval':>14} {'good':>4} {'aim':>4}"


def quotient(ours, base, q=0.5):
    """The quotient of the q-quantiles over all runs, ours by base: (value, low, high). ours, base: a list of times for each run."""
    rng = np.random.default_rng(7)
    samples = []
    for _ in range(RESAMPLINGS):
        runs = rng.integers(len(ours), size=len(ours))
        samples.append(pooled([ours[i] for i in runs], q) / pooled([base[i] for i in runs], q))
    value = pooled(ours, q) / pooled(base, q)
    low, high = np.quantile(samples, (0.025, 0.975))
    return value, min(low, value), max(high, value)


def pooled(runs, q=0.5):
    return float(np.quantile(np.concatenate(runs), q))


def row(name, found, better, good, aim):
    """A line of the budgets. found: value, low, high."""
    value, low, high = (round(float(number), 4) for number in found)
    return dict(name=name, ratio=value, better=better, good=good, aim=aim, interval=[low, high])


def mark(one):
    """'*': the aim is reached, '+': good is."""
    sign = 1 if one["better"] == "higher" else -1
    return "*" if sign * one["ratio"] >= sign * one["aim"] else "+" if sign * one["ratio"] >= sign * one["good"] else ""


def row_line(one, name):
    """name: what the row is called in it, in 45 columns."""
    interval = f"[{', '.join(map(short, one['interval']))}]"
    return f"{name:45} {short(one['ratio']):>6} {interval:>14} {one['good']:4.3g} {one['aim']:4.3g} {mark(one)}"


def short(value):
    """'0.856', '0.042', '1234': as many of three digits as 5 columns have room for, and from 100 on all before the point."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    texts = [f"{value:.{digits}g}" for digits in (3, 2, 1)]
    return next((text for text in texts if len(text) <= 5), f"{value:.2f}")
