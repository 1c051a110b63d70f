"""`damaris query RUN QUESTION`: latency, throughput, energy, calls; `--files`: which file got how many bytes from whom; `--sql`: anything else."""

import argparse
import csv
import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

ROWS = 200  # of a table on the terminal
DATA = (".csv", ".json", ".parquet")


def arguments(parser: ArgumentParser, words: list[str]) -> Namespace:
    from damaris import grammar

    parser.description = "Answers a question about a recording, as a table, a picture, or raw numbers as CSV, JSON or Parquet."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"questions:\n{grammar.__doc__.partition(chr(10) * 2)[2]}"
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("question", metavar="QUESTION", nargs="?", help="such as 'Latency Breakdown Inclusive [0-3] [1-10]', see below")
    parser.add_argument("--files", action="store_true", help="which file got how many bytes from whom; --csv and --json: one row a file and process")
    parser.add_argument("--sql", metavar="SQL", help="any question to the tables calls, objects, processes, losses (docs/trace-format.md)")
    parser.add_argument("-o", metavar="FILE", dest="output", type=Path, help="write the answer there: .csv .json .parquet, or its picture: .html .png .svg .pdf")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON: a list of objects")
    parser.add_argument("--all", action="store_true", help="with --files: also files without a byte, and system files that were only read")
    given = parser.parse_args(words)
    if sum((given.question is not None, given.files, given.sql is not None)) != 1:
        parser.error("ask one question: QUESTION, --files or --sql")
    if given.all and not given.files:
        parser.error("--all belongs to --files")
    if given.output:
        check_output(parser, given)
    return given


def check_output(parser, given) -> None:
    from damaris.pictures import SUFFIXES

    suffix = given.output.suffix
    if suffix not in (*DATA, *SUFFIXES):
        parser.error(f"'{given.output}' ends with none of {' '.join((*DATA, *SUFFIXES))}")
    if suffix in SUFFIXES and given.question is None:
        parser.error(f"there are pictures of QUESTIONs only; for others name one of {' '.join(DATA)}")
    if not given.output.absolute().parent.is_dir():
        parser.error(f"there is no folder '{given.output.parent}' for '{given.output.name}'")


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

    shown = [[text.number(one) if isinstance(one, float) else "" if one is None else str(one) for one in row] for row in rows]
    numbers = [name for i, name in enumerate(columns) if all(isinstance(row[i], int | float | None) for row in rows)]
    shrinks = "target" in columns and any(row[columns.index("target")] for row in rows)
    text.show(columns, shown, left=tuple(name for name in columns if name not in numbers), shrink="target" if shrinks else None, whole=not shrinks)


def write_raw(columns, rows, as_json: bool, file) -> None:
    if as_json:
        json.dump([dict(zip(columns, row, strict=True)) for row in rows], file, default=str, indent=1)
        print(file=file)
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def write_output(given, columns, rows) -> None:
    if given.output.suffix in DATA:
        with given.output.open("w") as file:
            write_raw(columns, rows, given.output.suffix == ".json", file)
    else:
        from damaris import grammar, pictures

        pictures.draw(grammar.parse(given.question), [dict(zip(columns, row, strict=True)) for row in rows], given.output)


def answer(run, given, most):
    """The answer as a DuckDB relation, and its rows, at most so many unless that is None. No relation: a statement of SQL without an answer."""
    import duckdb

    from damaris import Refused

    if given.sql is None:
        found = run.files() if given.files else run.ask(given.question)
        return found, (found.limit(most) if most else found).fetchall()
    try:
        found = run.query(given.sql)
        return found, [] if found is None else (found.limit(most) if most else found).fetchall()
    except duckdb.Error as error:
        raise Refused(f"the question is not understood: {str(error).splitlines()[0]}; docs/trace-format.md has the tables") from error


def nothing_found(run, given) -> str:
    """Why an answer may be empty."""
    [(processes, calls)] = run.query("select max(process), max(io) from calls").fetchall()
    if processes is None:
        return "The answer is empty: no call was recorded."
    if given.question is None:
        return "The answer is empty: nothing in the recording is like that."
    which = f"the recording has processes 0 to {processes}" if processes else "the recording has process 0 only"
    return f"The answer is empty: {which}, " + ("without an I/O call." if calls is None else f"and in each at most {calls + 1:,} I/O calls, counted from 0.")


def main(parser: ArgumentParser, words: list[str]) -> None:
    given = arguments(parser, words)
    import damaris

    run = damaris.open(given.run)
    if given.files and not (given.csv or given.json or given.output):
        print_files(run, given.all)
        return
    to_terminal = not (given.output or given.csv or given.json)
    found, rows = answer(run, given, ROWS + 1 if to_terminal else None)
    columns = found.columns if found is not None else []
    if given.output and given.output.suffix == ".parquet" and found is not None:
        found.write_parquet(str(given.output))
        return
    if not rows and given.output and given.output.suffix not in DATA:
        raise damaris.Refused(nothing_found(run, given))
    if given.output:
        write_output(given, columns, rows)
    elif given.csv or given.json:
        write_raw(columns, rows, given.json, sys.stdout)
    elif rows:
        print_table(columns, rows[:ROWS])
        if len(rows) > ROWS:
            print(f"and {found.aggregate('count(*)').fetchall()[0][0] - ROWS:,} more rows; --csv or -o FILE gives all")
    else:
        print(nothing_found(run, given))
