"""`damaris unify RUN`: makes the store of a recording."""

from argparse import ArgumentParser
from pathlib import Path


def main(parser: ArgumentParser, words: list[str]) -> None:
    parser.description = "Makes the store of a recording, Parquet files in RUN/store. The other verbs do it by themselves."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    given = parser.parse_args(words)
    from damaris.errors import Refused
    from damaris.unify import unify

    run = Path(given.run)
    if not run.is_dir():
        raise Refused(f"there is no recording '{run}'; make one with 'damaris record -o {run} PROGRAM'")
    unify(run)
