"""The verbs of `damaris` that are written in Python: unify, info, query."""

import argparse
import json
import sys
from pathlib import Path

from damaris.errors import Refused


def size_text(count) -> str:
    count = float(count or 0)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def table_of(columns, rows, title=None):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("file", "layer", "program", "host") else "right", overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row))
    return table


def unify(words):
    parser = argparse.ArgumentParser("damaris unify", description="Makes the store of a recording, which the other verbs read.")
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    given = parser.parse_args(words)
    from damaris import unify as module

    module.unify(Path(given.run))


def info(words):
    parser = argparse.ArgumentParser("damaris info", description="One screen about a recording: ranks, time, calls and bytes, losses.")
    parser.add_argument("run", metavar="RUN")
    given = parser.parse_args(words)
    from rich.console import Console

    import damaris

    run = damaris.open(given.run)
    console = Console(width=None if sys.stdout.isatty() else 80)
    ranks, processes, hosts, span = run.query(
        'select count(distinct rank) filter (rank >= 0), count(*), count(distinct host), (max("end") - min(begin)) / 1e9 from processes'
    ).fetchall()[0]
    console.print(f"{given.run}: {ranks} ranks, {processes} processes on {hosts} host{'s' if hosts != 1 else ''}, {span or 0:.2f} s")
    rows = run.query(
        """select layer, count(*), sum(bytes) filter (kind = 'write'), sum(bytes) filter (kind = 'read'), sum("end" - begin) / 1e9
           from calls where top group by layer order by 5 desc"""
    ).fetchall()
    shown = [(layer, f"{calls:,}", size_text(wrote), size_text(got), f"{seconds:.3f}") for layer, calls, wrote, got, seconds in rows]
    console.print(table_of(("layer", "calls", "written", "read", "seconds"), shown))
    rows = run.query(f"select file, sum(written), sum(read), count(*) from ({run.files().sql_query()}) group by file order by 2 desc nulls last limit 10")
    shown = [(name, size_text(wrote), size_text(got), who) for name, wrote, got, who in rows.fetchall()]
    console.print(table_of(("file", "written", "read", "processes"), shown, "Files with most bytes written"))
    losses = run.losses.fetchall()
    for process, why, calls in losses:
        console.print(f"lost: {why}" + (f", {calls} calls" if calls >= 0 else "") + (f" (process {process})" if process >= 0 else ""))
    if not losses:
        console.print("No call was lost. Not seen: static programs, io_uring, writes through mmap.")


def query(words):
    parser = argparse.ArgumentParser("damaris query", description="Answers questions about a recording.")
    parser.add_argument("run", metavar="RUN")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--files", action="store_true", help="which file got how many bytes from whom")
    what.add_argument("--sql", metavar="SQL", help="any question, to the tables calls objects processes losses")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true")
    form.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    import duckdb

    import damaris

    run = damaris.open(given.run)
    try:
        found = run.files() if given.files else run.query(given.sql)
        columns, rows = found.columns, found.fetchall()
    except duckdb.Error as error:
        raise Refused(f"the SQL is not understood: {error}") from error
    if given.json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], default=str))
    elif given.csv:
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        from rich.console import Console

        shown = [[f"{value:.3f}" if isinstance(value, float) else "" if value is None else value for value in row] for row in rows]
        Console(width=None if sys.stdout.isatty() else 80).print(table_of(columns, shown))


def main(verb, words):
    try:
        {"unify": unify, "info": info, "query": query}[verb](words)
    except Refused as refused:
        sys.exit(f"damaris {verb}: {refused}")
    except ModuleNotFoundError as missing:
        sys.exit(f"damaris {verb}: the Python module '{missing.name}' is missing; install it with 'pip install {missing.name}'")
    except BrokenPipeError:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
