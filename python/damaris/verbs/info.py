"""`damaris info RUN`: one screen about a recording."""

import json
import math
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

# Streams in memory, without an object, move no bytes of files.
LAYERS = """
select layer, count(*), sum(moved) filter (kind = 'write'), sum(moved) filter (kind = 'read'),
       sum(moved) filter (kind in ('send', 'collective')), sum("end" - begin) / 1e9
from (select *, case when handle = 0 and layer in ('posix', 'stdio') then 0 else bytes end as moved from calls where top) group by layer
order by list_position(['damaris', 'server', 'hdf5', 'mpiio', 'stdio', 'posix', 'mpi'], layer)
"""
JOB = """
select count(distinct rank), max(ranks), count(distinct (host, pid)), count(distinct host), min(begin), max("end"),
       coalesce(sum(least(seen, counted)) filter (counted is not null), 0), sum(counted), count(*) filter (ended = 'killed'),
       count(*) filter (ended = 'running'), count(*) filter (ended = 'unknown')
from processes
"""
CUT = "select count(*) from calls where flags & 4 <> 0"
LOSSES = "select why, sum(calls), count(distinct process) from losses group by why order by why limit 6"
ALONE = {"sends_alone": "send", "receives_alone": "receive", "collectives_lacking": "collective call"}  # of a store, what found no partner
FILES = 8  # on the screen


def command(run: Path) -> str:
    for folder in (run, run.resolve().parent):  # a store is in the recording's folder
        try:
            return " ".join(shlex.join(json.loads((folder / "recording.json").read_text())["program"]).split())
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return str(run)


def layers(rows) -> list[list[str]]:
    from damaris.verbs import text

    return [[layer, f"{calls:,}", *(text.size(count) if count else "" for count in moved), f"{seconds:.3f}"] for layer, calls, *moved, seconds in rows]


def coverage(seen: int, counted: int | None) -> str:
    missing = "writes through mmap or io_uring, of static programs, and by system calls past the C library"
    if not counted:
        known = "The kernel counted no bytes written." if counted == 0 else "Which share of the written bytes was seen is not known: no process has ended by itself."
        return f"{known} Not seen are {missing}."
    digits = 1 if 1000 * seen < 999 * counted or seen == counted else 3  # 100.0 is all of them
    percent = math.floor(100 * 10**digits * seen / counted) / 10**digits
    return f"{percent} % of the bytes written were seen ({seen:,} of {counted:,}). Not seen are {missing}."


def warnings(run, hosts: int, killed: int, running: int, unknown: int) -> Iterator[str]:
    from damaris.verbs import text

    if hosts > 1:
        yield f"Times are by the clocks of {hosts} hosts: how far these differ is not known."
    if killed:
        was, its = ("was", "its") if killed == 1 else ("were", "their")
        yield (f"{text.many(killed, 'process')} {was} killed: {its} bytes are counted, {its} coverage is not known. "
               "A stream may have got up to a buffer (4 KiB) more than reached its file.")  # fmt: skip
    if running:
        yield f"{text.many(running, 'process')} still running: this is what has happened so far."
    if unknown:
        yield f"How {text.many(unknown, 'process')} ended is not known: the raw file is damaged."
    if cut := run.query(CUT).fetchall()[0][0]:
        yield f"{text.many(cut, 'write')} had not returned when the process died: counted with all bytes that they were given."
    if missing := [text.many(count, what) for key, what in ALONE.items() if (count := run.about.get(key))]:
        yield (f"Without a partner: {', '.join(missing)}. Ranks were not recorded or killed, a program left them so, or a function of MPI is not "
               "recorded; damaris plan leaves them out.")  # fmt: skip
    for why, calls, processes in run.query(LOSSES).fetchall():
        lost = f", {text.many(calls, 'call')} lost" if calls else ""
        where = f" ({text.many(processes, 'process')})" if processes > 1 else ""
        begin = why[:1].upper() if why.split(" ")[0].isalpha() else why[:1]  # not of a path
        yield f"{begin}{why[1:]}{lost}{where}."


def about(job) -> str:
    """Who ran, for how long, and when: of the row of JOB."""
    from damaris.verbs import text

    ranks, of, processes, hosts, begin, end, *_ = job
    if begin is None:
        return "No call was recorded: the program made none on files, is linked statically, or has not begun."
    who = text.many(ranks, "rank") + (f" of {of}" if of and of != ranks else "") + ", " if ranks else ""
    when = datetime.fromtimestamp(begin / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{who}{text.many(processes, 'process')} on {text.many(hosts, 'host')}, {(end - begin) / 1e9:.2f} s from {when} UTC"


def main(parser: ArgumentParser, words: list[str]) -> None:
    parser.description = "One screen about a recording: who ran, how long, calls and bytes of each layer, the largest files, and what was not seen."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    given = parser.parse_args(words)
    import damaris
    from damaris.verbs import files, text

    run, out = damaris.open(given.run), text.console()
    job = run.query(JOB).fetchall()[0]
    _, _, _, hosts, begin, _, seen, counted, *ends = job
    out.print(text.shortened(command(Path(given.run)), out.width))
    out.print(about(job))
    if begin is not None:
        out.print()
        text.show(["layer", "calls", "written", "read", "sent", "seconds"], layers(run.query(LAYERS).fetchall()), left=("layer",))
        if shown := [one for one in files.of(run) if one.written][:FILES]:
            out.print()
            files.show("Files with most bytes written", shown)
    out.print()
    for line in [coverage(seen, counted)] * (begin is not None) + list(warnings(run, hosts, *ends)):
        out.print(line)
