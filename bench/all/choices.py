"""The options of bench all, checked before anything runs.

Used by: bench_all.py. Before it: the command line. After it: options; needs nothing but Python, so that the help needs no setup.
"""

import argparse
import shlex
from datetime import datetime
from pathlib import Path

from help_text import HelpText
from parts import NAMES, PARTS

EXAMPLES = f"""
parts: {', '.join(NAMES)}

examples:
  ./dev bench all                   about {sum(part.seconds for part in PARTS) // 60} minutes; the page is DIR/page.html
  ./dev bench all --fields fields.h5 --document docs/performance.md
  ./dev bench all --results DIR     goes on where it was interrupted, or only
                                    draws the page anew
  ./dev bench all --results DIR --only write,phases       these two again
  ./dev bench all --quick           a minute: does it run?

exit status: 0 all is measured or left out, 1 a part failed, 2 wrong usage, 130 interrupted
"""


def parse_arguments(description, words=None):
    parser = argparse.ArgumentParser(prog="./dev bench all", description=description, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--results", type=Path, metavar="DIR",
        help="where JSON and logs go (bench-results/<date-time>); what is there is not measured again")
    add("--page", type=Path, metavar="FILE", help="the HTML page (page.html in DIR)")
    add("--document", type=Path, metavar="FILE", action="append", default=[],
        help="write the figures between the marks in this Markdown file, too; may be given again; not with --quick")
    add("--only", type=parts_of, default=[], metavar="A,B", help="only these parts, and those again that are there")
    add("--fields", type=Path, metavar="FILE", help="HDF5 with groups of 3D float32 datasets, for reduce (a small slice of CM1's)")
    add("--folder", type=Path, metavar="DIR", help="where the runs write (the folder for temporary files)")
    add("--quick", action="store_true", help="few samples: does it run; the figures mean little")
    options = parser.parse_args(words)
    check(parser, options)
    return options


def check(parser, options):
    if options.folder and not options.folder.is_dir():
        parser.error(f"argument --folder: there is no folder {options.folder}")
    if options.fields and not options.fields.is_file():
        parser.error(f"argument --fields: there is no file {options.fields}")
    if options.page and not options.page.parent.is_dir():
        parser.error(f"argument --page: there is no folder {options.page.parent}")
    if options.document and options.quick:
        parser.error("argument --document: quick figures mean little; leave --quick out, or look at them in the page")
    options.results = options.results or Path("bench-results") / datetime.now().strftime("%Y-%m-%d-%H%M")
    options.page = options.page or options.results / "page.html"
    options.fields = options.fields and options.fields.resolve()
    options.folder = options.folder and options.folder.resolve()


def go_on(options):
    """The command that goes on with what is missing, or begins again with the parts that were named. options as parse_arguments gave them."""
    words = ["./dev", "bench", "all", "--results", options.results]
    words += ["--fields", options.fields] if options.fields else []
    words += ["--folder", options.folder] if options.folder else []
    words += ["--page", options.page] if options.page != options.results / "page.html" else []
    for document in options.document:
        words += ["--document", document]
    words += ["--quick"] if options.quick else []
    words += ["--only", ",".join(options.only)] if options.only else []
    return shlex.join(map(str, words))


def parts_of(text):
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of: {', '.join(NAMES)}")
    return chosen
