"""What the benchmarks in Python have in common: how they run and end, their rounds, and the options that all take.

Used by: bench_cm1.py, bench_compression.py, bench_phases.py. Before it: a command line. After it: an exit status; nothing is left behind.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from run_cm1 import RunFailed


def run_benchmark(name, parent, work):
    """Calls work(console, folder) with a folder below `parent` that goes afterwards. Returns the exit status."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) != signal.SIG_IGN:  # by nohup
            signal.signal(ending, signal.default_int_handler)  # ends like an interrupt: the runs go too
    console = Console(width=min(80, Console().width), highlight=False)
    folder = None
    try:
        folder = made_folder(name, parent)
        work(console, folder)
    except (RunFailed, OSError, ValueError) as failure:
        print(f"bench {name}: {failure}", file=sys.stderr)
        return getattr(failure, "status", 1)
    except KeyboardInterrupt:
        print(f"bench {name}: interrupted; nothing is left running", file=sys.stderr)
        return 130
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def made_folder(name, parent):
    try:
        return Path(tempfile.mkdtemp(prefix=f"damaris-bench.{name}.", dir=parent))
    except OSError as failure:
        raise RunFailed(f"cannot make a folder in {parent or tempfile.gettempdir()}: {failure.strerror}; give --folder one that can be written") from failure


def in_rounds(console, label, things, rounds):
    """(round, thing) for all things in each round, in an order drawn anew."""
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(label, total=rounds * len(things))
        for number in range(rounds):
            for thing in random.sample(things, len(things)):
                yield number, thing
                progress.advance(task)


def add_places(parser, quick, page=True):
    """--json, --page, --folder and --quick, whose help is `quick`."""
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write machine, rows and all times")
    if page:
        add("--page", type=Path, metavar="FILE", help="write an HTML page with pictures")
    add("--folder", type=Path, metavar="DIR", help="where the runs write (the folder for temporary files)")
    add("--quick", action="store_true", help=f"{quick}: does it run; the figures mean little")


def check_places(parser, options):
    """Now, not after all runs."""
    if options.folder and not options.folder.is_dir():
        parser.error(f"argument --folder: there is no folder {options.folder}")
    for name in ("json", "page"):
        path = getattr(options, name, None)
        if path and not path.parent.is_dir():
            parser.error(f"argument --{name}: there is no folder {path.parent}")


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}': a whole number, 1 or more")
    return int(text)
