"""`damaris report RUN`: what costs the program time in storage, as a page, on the terminal, or for a script."""

import argparse
import json
import sys
from pathlib import Path


def arguments(parser, words):
    from damaris.findings import ALL_RULES

    parser.description = "Says what costs a recorded program time in storage, and what would help."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "findings:\n" + "\n".join(f"  {code}  {title}" for code, (title, _, _) in ALL_RULES.items())
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("-o", metavar="FILE", dest="output", type=Path, help="write the page there (default: RUN/report.html)")
    parser.add_argument("--console", action="store_true", help="print the findings instead of writing the page")
    parser.add_argument("--codes", action="store_true", help="print CODE SEVERITY SECONDS of each finding, one a line")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON, with the SQL that shows each")
    parser.add_argument("--fail-above", metavar="SEVERITY", choices=("none", "low", "medium"),
                        help="exit with 1 if a finding is more severe than none, low or medium")  # fmt: skip
    given = parser.parse_args(words)
    if given.codes + given.json + given.console + (given.output is not None) > 1:
        parser.error("-o, --console, --codes and --json are ways to tell the same; choose one")
    if given.output and not given.output.absolute().parent.is_dir():
        parser.error(f"there is no folder '{given.output.parent}' for '{given.output.name}'")
    return given


def headline(facts, found) -> str:
    """What a busy person reads first."""
    from damaris.verbs import text

    time, storage = facts.time, facts.in_storage
    if not facts.processes:
        return "No call was recorded, so nothing costs time."
    share = text.share(storage, time)
    begin = f"{text.many(facts.processes, 'process')} spent {storage:,.3g} of {time:,.3g} s ({share}) in calls that reach files."
    left_out = " ".join(["", facts.talk.left_out]).rstrip()
    if not found:
        return begin + " Nothing in how it does that costs much." + left_out
    worst = found[0]
    most = f"{100 * worst.seconds / time:.1f} %" if time else ""
    return f"{begin} Most is at stake with {worst.title} ({worst.code}): {worst.seconds:,.3g} s, {most} of the time.{left_out}"


def print_console(facts, found) -> None:
    from rich.padding import Padding

    from damaris.verbs import text

    out = text.console()
    run = facts.run
    out.print(headline(facts, found))
    for one in found:
        ranks = f"process {text.ranges(one.ranks)}" if len(one.ranks) == 1 else f"processes {text.ranges(one.ranks)}"
        out.print(f"\n{one.code} {one.severity}: {one.title}, {one.seconds:,.3g} s at stake, {ranks}", style="bold")
        out.print(Padding(f"{one.evidence}.\nTo do: {one.advice}.", (0, 0, 0, 2)))
    lost = run.query("select count(*) from losses").fetchall()[0][0]
    if lost:
        out.print(f"\nThe recording has {text.many(lost, 'loss')}; damaris info {run.store.parent} tells them.")


def main(parser, words):
    given = arguments(parser, words)
    import damaris
    from damaris.facts import Facts
    from damaris.findings import SEVERITIES, find

    facts = Facts(damaris.open(given.run))
    found = find(facts)
    if given.codes:
        for one in found:
            print(one.code, one.severity, f"{one.seconds:.6f}")
    elif given.json:
        json.dump({"summary": headline(facts, found), "findings": [one.as_dict() for one in found]}, sys.stdout, indent=1)
        print()
    elif given.console:
        print_console(facts, found)
    else:
        from damaris import page

        output = given.output or Path(given.run) / "report.html"
        page.write(facts, found, headline(facts, found), output)
        print(f"{headline(facts, found)}\nThe page: {output}")
    if given.fail_above:
        worst = max((SEVERITIES.index(one.severity) for one in found), default=-1)
        if worst > ("none", *SEVERITIES).index(given.fail_above) - 1:
            sys.exit(1)
