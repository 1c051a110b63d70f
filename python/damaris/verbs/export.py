"""`damaris export RUN --perfetto FILE`: a recording for another tool."""

import sys
from argparse import ArgumentParser
from pathlib import Path


def main(parser: ArgumentParser, words: list[str]) -> None:
    parser.description = "Writes a recording as a file for another tool."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("--perfetto", type=Path, required=True, metavar="FILE", help="for ui.perfetto.dev: processes, threads, calls, messages")
    given = parser.parse_args(words)
    import damaris
    from damaris import perfetto_file
    from damaris.errors import Refused

    run = damaris.open(given.run)
    try:
        with given.perfetto.open("wb") as file:
            perfetto_file.write(run, file)
    except OSError as error:
        raise Refused(f"cannot write '{given.perfetto}': {error.strerror}; name another file with --perfetto") from error
    [(calls, messages)] = run.query("select (select count(*) from calls), (select count(*) from messages where done is not null)").fetchall()
    print(f"{given.perfetto}: {calls:,} calls, {messages:,} messages; open it in https://ui.perfetto.dev", file=sys.stderr)
