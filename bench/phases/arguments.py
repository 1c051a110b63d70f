"""The options of bench phases, checked.

Used by: bench_phases.py. Before it: the command line. After it: the ways, the settings of the runs, where results go.
"""

import argparse
import re
from pathlib import Path

from help_text import HelpText
from program import add_places, check_places, positive
from storage import Storage, storages

WAYS = ["file-per-process", "file-per-process-deflate", "file-per-process-core", "collective", "grouped", "independent", "one-writer",
        "adios2", "adios2-async", "damaris", "damaris-deflate"]
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
QUICK = dict(bytes=256 << 10, phases=2, compute=0.02)
EXAMPLES = """
examples:
  ./dev bench phases --page phases.html
  ./dev bench phases --sweep --json phases.json --folder /scratch
  ./dev bench phases --ways file-per-process,damaris --ranks 2 --bytes 64MiB
  ./dev bench phases --storage cache,disk,100MB --ways collective,damaris
  ./dev bench phases --ways collective --transfer 1MiB --stripe 4MiB
  ./dev bench phases --fields fields.h5 --repeats 10
"""


def parse_arguments(description):
    parser = argparse.ArgumentParser(prog="./dev bench phases", description=description, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--ways", type=ways, metavar="A,B", help=f"which of: {', '.join(WAYS)} (all that are built in)")
    add("--ranks", type=positive, default=4, metavar="N", help="processes; damaris takes its dedicated cores from them (4)")
    add("--bytes", type=size, default=24 << 20, metavar="SIZE", help="of each process and phase (24MiB)")
    add("--storage", type=storages, default=[Storage("cache")], metavar="A,B",
        help="cache: files end in the page cache (default); disk: the file ways sync, too; RATE such as 100MB: all processes together "
             "write so many bytes a second, as with a node's share of a parallel file system; several: the ways with each")
    add("--phases", type=positive, default=10, metavar="N", help="of a run (10)")
    add("--compute", type=seconds, default=0.5, metavar="S", help="processor time of a process and phase (0.5)")
    add("--transfer", type=size, default=0, metavar="SIZE", help="a write call of the file ways (a whole field)")
    add("--chunk", type=size, default=1 << 20, metavar="SIZE", help="chunk of file-per-process-deflate (1MiB)")
    add("--stripe", type=size, default=0, metavar="SIZE", help="hint striping_unit of MPI-IO (none)")
    add("--groups", type=positive, default=2, metavar="N", help="files of grouped (2)")
    add("--writers", type=positive, default=1, metavar="N", help="of one-writer; dedicated cores of damaris (1)")
    add("--repeats", type=positive, default=5, metavar="N", help="rounds; another one warms up (5)")
    add("--fields", type=Path, metavar="FILE", help="HDF5 with groups of 3D float32 datasets, the values to write")
    add("--sweep", action="store_true", help="also file-per-process and damaris with other sizes")
    add_places(parser, "one small round")
    options = parser.parse_args()
    check(parser, options)
    if options.quick:
        vars(options).update(QUICK, repeats=1)
    return options


def check(parser, options):
    check_places(parser, options)
    if options.fields and not options.fields.is_file():
        parser.error(f"argument --fields: there is no file {options.fields}")
    if options.sweep and options.phases < 2:
        parser.error("argument --sweep: it needs 2 phases or more, between which the dedicated core writes")
    if options.ranks < options.groups or options.ranks < 2 * options.writers:
        parser.error(f"argument --ranks: {options.ranks} are too few for {options.groups} groups and {options.writers} writers, "
                     "each with a process of its own to serve")


def ways(text):
    chosen = text.split(",")
    unknown = [way for way in chosen if way not in WAYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of: {', '.join(WAYS)}")
    return [way for way in WAYS if way in chosen]


def seconds(text):
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"'{text}': a number of seconds, such as 0.5")
    return float(text)


def size(text):
    found = re.fullmatch(r"(\d+)\s*([kmg]i?)?b?", text.lower())
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}': a number of bytes, or one with a unit, such as 24MiB")
    return int(found[1]) * UNITS[found[2] or ""]
