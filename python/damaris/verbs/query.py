"""`damaris query RUN --files`: which file got how many bytes from whom; `--sql` asks anything else."""

import csv
import json
import sys
from argparse import ArgumentParser, Namespace


def arguments(parser: ArgumentParser, words: list[str]) -> Namespace:
    parser.description = "Answers a question about a recording, as a table, or with raw numbers as CSV or JSON."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--files", action="store_true", help="which file got how many bytes from whom; --csv and --json: one row a file and process")
    what.add_argument("--sql", metavar="SQL", help="any question to the tables calls, objects, processes, losses (docs/trace-format.md)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON: a list of objects")
    parser.add_argument("--all", action="store_true", help="with --files: also files without a byte, and system files that were only read")
    given = parser.parse_args(words)
    if given.all and not given.files:
        parser.error("--all belongs to --files; a question in SQL says itself what it leaves out")
    return given


def print_files(run, everything: bool) -> None:
    from damaris.verbs import files, text

    found = files.of(run)
    shown = found if everything else [one for one in found if (one.written or one.read) and not one.is_of_system()]
    if shown:
        files.show("Files", shown)
    else:
        text.console().print("No file was written or read." if not found else "No file of the program's own was written or read.")
    if left := len(found) - len(shown):
        was = "is" if left == 1 else "are"
        text.console().print(f"\n{text.many(left, 'file')} without a byte, or of the system and only read, {was} left out; --all lists them.")


def print_table(columns, rows) -> None:
    from damaris.verbs import text

    shown = [[f"{one:.3f}" if isinstance(one, float) else "" if one is None else str(one) for one in row] for row in rows]
    numbers = [name for i, name in enumerate(columns) if all(isinstance(row[i], int | float | None) for row in rows)]
    text.show(columns, shown, left=tuple(name for name in columns if name not in numbers), whole=True)


def print_raw(columns, rows, as_json: bool) -> None:
    if as_json:
        json.dump([dict(zip(columns, row, strict=True)) for row in rows], sys.stdout, default=str, indent=1)
        print()
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def main(parser: ArgumentParser, words: list[str]) -> None:
    given = arguments(parser, words)
    import duckdb

    import damaris

    run = damaris.open(given.run)
    if given.files and not given.csv and not given.json:
        print_files(run, given.all)
        return
    try:
        found = run.files() if given.files else run.query(given.sql)
        columns, rows = (found.columns, found.fetchall()) if found is not None else ([], [])
    except duckdb.Error as error:
        raise damaris.Refused(f"the question is not understood: {str(error).splitlines()[0]}; docs/trace-format.md has the tables") from error
    if given.csv or given.json:
        print_raw(columns, rows, given.json)
    else:
        print_table(columns, rows)
