"""Everything that the budgets promise, measured by one command: a page with pictures, and the figures of the documents.

Runs the benchmarks one after the other, each as a process of its own. What a folder of results already has is not measured again, so an
interrupted campaign goes on; the page and the documents are made from the folder alone.
"""

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "bench/phases", "examples/cm1")]

from choices import go_on, parse_arguments  # noqa: E402

LOUD = 0.5  # load average


def main():
    options = parse_arguments(__doc__)
    end_like_an_interrupt()
    from campaign import InUse  # these need the Python environment; the help does not
    from document import NoMarks
    from results import BadResult
    try:
        return measure_and_draw(options)
    except (BadResult, InUse, NoMarks, OSError) as failure:
        print(f"bench all: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"bench all: interrupted; nothing is left running, what is measured stays. Go on with:\n"
              f"  {go_on(options)}", file=sys.stderr)
        return 130


def end_like_an_interrupt():
    """When it is told to stop, or has lost its terminal: the part that runs goes too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        signal.signal(signal.SIGHUP, signal.default_int_handler)


def measure_and_draw(options):
    from rich.console import Console

    from campaign import Campaign
    from document import NAMES, check
    from results import read_results
    from shown import Shown
    for document in options.document:
        check(document, document.read_text(encoding="utf-8"), NAMES)
    work = Campaign(options)
    if work.mismatch():
        print(f"bench all: {work.mismatch()}", file=sys.stderr)
        return 2
    if options.document and work.kind_is_unknown():
        print(f"bench all: whether the results in {options.results} are of a quick campaign is not known, as its campaign.json is missing "
              "or damaged: they do not go into a document; give another --results", file=sys.stderr)
        return 2
    read_results(options.results)  # what is there must be readable before anything is added to it
    shown = Shown(Console(highlight=False), options.results, options.quick)
    announce(shown, work, options)
    failed = work.measure(shown)
    report(shown, options)
    if failed:
        print(f"bench all: failed: {', '.join(failed)}; the page says so", file=sys.stderr)
    return 1 if failed else 0


def announce(shown, work, options):
    from parts import seconds_of
    from shown import time_text
    todo, load = work.todo(), os.getloadavg()[0]
    shown.say(f"results: {options.results}")
    if not todo:
        shown.say("all parts have a result; --only measures some again")
        return
    expected = sum(seconds_of(part, options.quick) for part in todo)
    shown.say(f"{len(todo)} part{'' if len(todo) == 1 else 's'}, about {time_text(expected)} on 2 cores; an interrupt keeps what is done")
    if load > LOUD:
        shown.say(f"WARNING: the load of this machine is {load:.1f}: others use it, or a build has just ended.\n"
                  "Figures will hold their turns: end them, or wait.")


def report(shown, options):
    from document import rewrite, texts_of
    from results import read_results
    from verdicts import counted, groups_of, read_remarks
    from whole_page import draw_whole_page
    results = read_results(options.results)
    groups = groups_of(results, read_remarks())
    draw_whole_page(options.page, results, groups, options.results, options.quick)
    for document in options.document:
        rewrite(document, texts_of(results, groups, options.quick))
    shown.say(f"\n{counted(groups)}")
    for path in (options.page, *options.document):
        shown.say(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main())
