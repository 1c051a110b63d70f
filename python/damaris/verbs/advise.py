"""`damaris advise RUN`: what another way of writing would give the program, and an XML to start with."""

import json
import signal
import sys
import tempfile
from pathlib import Path


def arguments(parser, words):
    parser.description = "Says what dedicated cores, collective I/O or a file for each process would give a recorded program: replays its I/O in each of these ways."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("--on", metavar="DIR", help="do the I/O there, in a folder of its own (default: beside RUN)")
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help="replays of each way (3)")
    parser.add_argument("--scaling", metavar="PERCENT", type=int, default=100, help="how far the program scales, as for damaris replay (100)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there; - prints them instead of the table")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write an XML with the program's variables there")
    given = parser.parse_args(words)
    if given.repeat < 1:
        parser.error("--repeat: a whole number, 1 or more")
    if not 0 <= given.scaling <= 100:
        parser.error("--scaling: a whole number from 0 to 100")
    for file in (given.output, Path(given.json) if given.json not in (None, "-") else None):
        if file and not file.absolute().parent.is_dir():
            parser.error(f"there is no folder '{file.parent}' for '{file.name}'")
    return given


def table(advice) -> None:
    from damaris.verbs import text

    rows = []
    for one in advice.ways:
        times = [f"{one.middle:.3f}", f"{min(one.seconds):.3f}", f"{max(one.seconds):.3f}", f"{one.io_seconds:.3f}"] if one.seconds else ["not run", "", "", ""]
        rows.append([one.name, *times, f"{100 * (one.middle / advice.ways[0].middle - 1):+.1f} %" if one.seconds else ""])
    text.show(["way", "run s", "least", "most", "I/O s", "against as it is"], rows, ("way",))


def tell(advice, program: str) -> None:
    from damaris.verbs import text

    out = text.console()
    nodes = f" on {text.many(advice.nodes, 'node')}" if advice.nodes > 1 else ""
    out.print(f"{program}: {text.many(advice.processes, 'process')}{nodes}, recorded {advice.recorded_seconds:.3f} s; replayed on {advice.folder}\n")
    table(advice)
    for one in advice.ways:
        if one.failed:
            out.print(f"\n{one.name} could not be run: {one.failed}")
    out.print(f"\nFastest:         {advice.best}")
    out.print(f"Confidence:      {advice.confidence}: {advice.reason}")
    out.print(f"Dedicated cores: {f'{advice.cores} a node' if advice.cores else 'none'}")
    if advice.buffer_bytes:
        rest = "so the buffer does not fill" if advice.busy < 0.8 else "so the buffer fills: docs/back-pressure.md has the choices"
        out.print(f"Buffer:          {text.size(advice.buffer_bytes)} a server with dedicated cores")
        out.print(f"Back-pressure:   {advice.on_full}; servers store for {text.share(advice.busy, 1)} of the time, {rest}")
    out.print("\nNot known:")
    for one in advice.unknown:
        out.print(f"- {one}")


def main(parser, words):
    given = arguments(parser, words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))  # so that folders go
    import damaris
    from damaris.advise import Adviser
    from damaris.advise_xml import xml_of
    from damaris.errors import Refused

    recording = damaris.open(given.run)
    [(program,)] = recording.query("select program from processes order by rank nulls last, id limit 1").fetchall() or [("program",)]
    program = Path(program).name
    beside = str(Path(given.run).absolute().parent) if given.on is None else given.on

    def see(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{what} ..." if what else "\r\033[K", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="damaris-advise.") as place:
        adviser = Adviser(recording, Path(place), beside, given.repeat, see, given.scaling)
        advice = adviser.run()
    see("")
    try:
        if given.json:
            written = json.dumps(advice.as_dict(), indent=1) + "\n"
            sys.stdout.write(written) if given.json == "-" else Path(given.json).write_text(written)
        if given.json != "-":
            tell(advice, program)
        if given.output:
            xml, count = xml_of(recording, adviser.plan, advice, program)
            given.output.write_text(xml)
            print(f"\n{given.output}: {count} variable{'s' * (count != 1)}; try: damaris check {given.output}", file=sys.stderr if given.json == "-" else sys.stdout)
    except OSError as error:
        raise Refused(f"cannot write '{error.filename}': {error.strerror}; name another file") from error
