"""What costs a program time in storage and in MPI, by rules over the facts of a recording. Each finding has a stable code, a severity by the share of the processes'
time at stake, evidence, the question that shows it, and advice."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from damaris import communication
from damaris.case import Case
from damaris.facts import MEGABYTE, PAGE, SAMPLE, Facts

SEVERITIES = ("low", "medium", "high")
SHARES = (0.002, 0.02, 0.10)  # of the time of all processes, from which on a finding has this severity; below the first there is none
LEAST = 0.001  # seconds at stake that are worth a word
SMALL = 16  # class of accesses below which they are small: 64 KiB


@dataclass
class Finding:
    """`seconds` at stake, of all processes together; `ranks`: the processes concerned; `query`: SQL whose rows show it."""

    code: str
    title: str
    severity: str
    seconds: float
    ranks: list[int]
    evidence: str
    advice: str
    query: str

    def as_dict(self) -> dict:
        return asdict(self)


def quoted(text: str) -> str:
    """As SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def family_of(name: str) -> str:
    """Of step12_rank3.dat: step#_rank#.dat, as regexp_replace(name, '[0-9]+', '#', 'g') in SQL."""
    return re.sub("[0-9]+", "#", name)


def worst(facts: Facts, sql: str, query: str, tell: Callable) -> Iterator[Case]:
    """The rows of `sql` are (name, ranks, count, bytes, seconds, ...), one a file. Of the family of files with most seconds beyond its bytes, the
    sums; `tell` gets the names in words, the sums, and the row of its worst file."""
    families: dict[str, list[tuple]] = {}
    for row in facts.rows(sql):
        families.setdefault(family_of(row[0]), []).append(row)
    cases = []
    for family, rows in families.items():
        count, moved, seconds = (sum(row[i] for row in rows) for i in (2, 3, 4))
        names = rows[0][0] if len(rows) == 1 else f"{len(rows)} files like {family}"
        ranks = sorted(set().union(*(row[1] for row in rows)))
        where = f"regexp_replace(name, '[0-9]+', '#', 'g') = {quoted(family)}"
        evidence = tell(names, ranks, count, moved, seconds, max(rows, key=lambda row: row[4]))
        cases.append(Case(facts.beyond(seconds, moved), ranks, evidence, query.format(files=where)))
    yield from sorted(cases, key=lambda case: -case.seconds)[:1]


def file_per_process(facts: Facts) -> Iterator[Case]:
    rows = facts.rows("""with files as (
        select name, regexp_replace(name, '[0-9]+', '#', 'g') as family, min(process) as process, count(distinct process) as processes,
               sum(ns) filter (kind in ('open', 'close', 'metadata')) / 1e9 as seconds
        from access group by name having sum(bytes) filter (kind = 'write') > 0)
        select family, list(distinct process order by process), count(*), sum(seconds) from files where processes = 1
        group by family having count(distinct process) > 1 and count(*) >= 8 order by 4 desc limit 1""")
    for family, ranks, count, seconds in rows:
        yield Case(seconds or 0, ranks, f"{len(ranks)} processes wrote {count} files like {family}, each alone; opening and closing them took {seconds:.3g} s",
                   f"select name, process, sum(ns) / 1e9 from storage where regexp_replace(name, '[0-9]+', '#', 'g') = {quoted(family)} group by all")  # fmt: skip


def metadata_storm(facts: Facts) -> Iterator[Case]:
    rows = facts.rows("""select list(distinct process order by process), coalesce(sum(count) filter (kind not in ('read', 'write', 'sync')), 0),
        coalesce(sum(ns) filter (kind not in ('read', 'write', 'sync')), 0) / 1e9, coalesce(sum(ns) filter (kind in ('read', 'write')), 0) / 1e9 from accesses""")
    for ranks, count, seconds, moving in rows:
        if count > 100 * len(ranks or []) and seconds > moving:
            yield Case(seconds, ranks, f"{count:,} calls that open, close, seek and rename took {seconds:.3g} s, reading and writing {moving:.3g} s",
                       "select kind, function, count(*), sum(ns) / 1e9 from storage group by all order by 4 desc")  # fmt: skip


def small_writes(facts: Facts) -> Iterator[Case]:
    yield from worst(facts, f"""select name, list(distinct process order by process), sum(count), sum(bytes), sum(ns) / 1e9, arg_max(bytes / count, count)
        from access where kind = 'write' and bytes > 0 group by name
        having sum(count) > 100 and sum(count) filter (class < {SMALL}) >= 0.9 * sum(count)""",
        "select bytes, count(*), sum(ns) / 1e9 from storage where {files} and kind = 'write' group by all order by 2 desc",
        lambda names, ranks, count, moved, seconds, row: f"{count:,} writes of {row[5]:,.0f} bytes (typically) into {names} took {seconds:.3g} s; "
                    f"{moved:,} bytes in large writes take {moved / facts.rate:.3g} s here")  # fmt: skip


def unaligned(facts: Facts) -> Iterator[Case]:
    rows = facts.rows(f"""select name, list(distinct process order by process), sum(count), sum(unaligned), sum(edges) / 1e9 from access
        where kind = 'write' and class >= {PAGE.bit_length() - 1} and placed > 0 and layer = 'posix' group by name
        having sum(unaligned) > 0.5 * sum(count) and sum(count) > 8 order by 5 desc limit 1""")
    for name, ranks, count, wrong, seconds in rows:
        yield Case(seconds, ranks, f"{percent(wrong, count)} of {count:,} writes into {name} begin inside a page of {PAGE} bytes, of which the file system reads "
                   "the rest first", f"select \"offset\" % {PAGE}, count(*) from storage where name = {quoted(name)} and kind = 'write' group by all")  # fmt: skip


def read_back(facts: Facts) -> Iterator[Case]:
    """Of each read the last write before its place in the file, by the same process: earlier, and as far as there."""
    both = facts.rows("""select object from accesses where bytes > 0 group by object, process
        having count(*) filter (kind = 'read') > 0 and count(*) filter (kind = 'write') > 0""")
    if not both:
        return
    objects = ", ".join(str(number) for number in {row[0] for row in both})
    rows = facts.rows(f"""with moves as (select * from storage where object in ({objects}) and bytes > 0 and "offset" is not null),
        writes as (select object, process, "offset", max(bytes) as bytes, min("end") as "end" from moves where kind = 'write' group by all)
        select r.name, list(distinct r.process order by r.process), count(*), sum(r.ns) / 1e9
        from (select * from moves where kind = 'read') r asof join writes w
          on w.object = r.object and w.process = r.process and w."offset" <= r."offset"
        where w."offset" + w.bytes > r."offset" and w."end" <= r."begin" group by r.name order by 4 desc limit 1""")
    for name, ranks, count, seconds in rows:
        yield Case(seconds, ranks, f"{count:,} reads of {name} got back what the same process had just written, in {seconds:.3g} s",
                   f"select process, kind, \"offset\", bytes from storage where name = {quoted(name)} and kind in ('read', 'write') order by \"begin\"")  # fmt: skip


def side_by_side(summary: str, writes: str, share: float) -> str:
    """SQL for `worst`: files of several processes that have more than `share` of their `writes` beside one of another process. Of many writes, some strips
    of the file tell. `summary`: of a file's process, the number, least and greatest offset, bytes and ns of these."""
    return f"""with files as (
          select object, list(distinct process order by process) as ranks, sum(count)::bigint as count, min(low) as low, max(high) as high, sum(bytes) as bytes,
                 sum(ns) / 1e9 as seconds, (ceil(sum(sum(count)) over () / {SAMPLE}))::bigint as strips
          from ({summary}) group by object having count(distinct process) > 1 and sum(count) > 16),
        lying as (select w.object, w.process, lag(w.process) over (partition by w.object order by w."offset") as before from ({writes}) w join files f using (object)
                  where (w."offset" - f.low) // greatest((f.high - f.low) // 1000, 1) % f.strips = 0)
        select o.name, any_value(ranks), any_value(count), any_value(bytes), any_value(seconds), avg((before <> process)::int)
        from lying join files using (object) join objects o on o.id = object group by object, o.name having avg((before <> process)::int) > {share}"""


def interleaved(facts: Facts) -> Iterator[Case]:
    yield from worst(facts, side_by_side(f"from accesses where kind = 'write' and class < {MEGABYTE} and placed > 0",
            f"""select object, process, "offset" from storage where kind = 'write' and bytes between 1 and {2**MEGABYTE - 1} and "offset" is not null""", 0.5),
        "select name, \"offset\", bytes, process from storage where {files} and kind = 'write' order by 1, 2",
        lambda names, ranks, count, moved, seconds, row: f"{len(ranks)} processes wrote {names} in {count:,} pieces; {percent(row[5], 1)} of them lie "
                    "beside those of another process")  # fmt: skip


def independent(facts: Facts) -> Iterator[Case]:
    names = ("MPI_File_write", "MPI_File_write_at", "MPI_File_iwrite_at")
    if not facts.rows(f"select 1 from functions where function in {names} limit 1"):
        return
    writes = f"""from calls where layer = 'mpiio' and top and kind = 'write' and function in {names} and bytes between 1 and {2**MEGABYTE - 1}
            and "offset" is not null"""
    summary = f"""select object, process, count(*) as count, min("offset") as low, max("offset") as high, sum(bytes) as bytes, sum("end" - "begin") as ns
            {writes} group by all"""
    yield from worst(facts, side_by_side(summary, f'select object, process, "offset" {writes}', 0.25),
        "select name, function, process, count(*), sum(bytes) from calls join objects o on o.id = object where {files} and layer = 'mpiio' group by all",
        lambda names, ranks, count, moved, seconds, row: f"{count:,} independent MPI-IO writes of {len(ranks)} processes lie side by side in {names}")  # fmt: skip


def irregular(facts: Facts) -> Iterator[Case]:
    found = facts.phases()
    if len(found) < 4:
        return
    middle = sorted(row[2] for row in found)[len(found) // 2]
    alike = [row for row in found if middle and 0.5 < row[2] / middle < 2]
    if len(alike) < 4:
        return
    usual_all, usual = (sorted(row[column] for row in alike)[len(alike) // 2] for column in (4, 5))
    slow = [row for row in alike if row[5] > 2 * usual]
    if slow:
        begin, _, _, ranks, _, longest = max(slow, key=lambda row: row[5])
        yield Case(sum(max(0, row[4] - usual_all) for row in slow), ranks,
                   f"In {len(slow)} of {len(alike)} write phases with as many bytes, writing took a process more than twice the usual {usual:.3g} s; "
                   f"the longest, at {begin:.3g} s, {longest:.3g} s",
                   "select process, \"begin\", ns / 1e9, bytes, name from storage where kind in ('write', 'sync') order by ns desc limit 50")  # fmt: skip


def slow_target(facts: Facts) -> Iterator[Case]:
    """A file in which a byte costs three times as much as in those like it, also without its slowest call: one may be slow by chance."""
    rows = facts.rows("""with files as (
          select name, regexp_replace(name, '[0-9]+', '#', 'g') as family, list(distinct process order by process) as ranks, sum(bytes) as bytes,
                 sum(ns) / 1e9 as seconds, sum(ns) / sum(bytes) as cost,
                 (sum(ns) - max(slowest_ns)) / nullif(sum(bytes) - arg_max(slowest_bytes, slowest_ns), 0) as others
          from access where kind = 'write' and bytes > 0 group by name),
        compared as (select *, median(cost) over (partition by family) as usual, count(*) over (partition by family) as files from files)
        select name, ranks, seconds, cost / usual, bytes * (cost - usual) / 1e9, files from compared
        where files >= 4 and cost > 3 * usual and others > 3 * usual order by 5 desc limit 1""")
    for name, ranks, seconds, times, beyond, files in rows:
        yield Case(beyond, ranks, f"A byte of {name} took {times:.1f} times as long as one of the {files - 1} files like it; {seconds:.3g} s in all",
                   "select name, sum(bytes), sum(ns) / 1e9, sum(ns) / sum(bytes) as ns_by_byte from storage where kind = 'write' and bytes > 0 group by all order by 4 desc")  # fmt: skip


RULES = {
    "I1": ("a file for each process", file_per_process, "write one file together (parallel HDF5, MPI-IO collective), or give a core of each node to I/O (Damaris): one file a node"),
    "I2": ("more work on names than on data", metadata_storm, "keep files open between outputs, and write several outputs into one file"),
    "I3": ("small writes", small_writes, "gather them: a larger stream buffer (setvbuf), collective MPI-IO, HDF5 chunks of 1 MiB, or Damaris, which joins blocks"),
    "I4": ("writes that begin inside a page", unaligned, "align: H5Pset_alignment, a header of whole pages, the hint striping_unit"),
    "I5": ("reads of what was just written", read_back, "keep it in memory, or verify in a run of its own"),
    "I6": ("small pieces of many processes side by side in one file", interleaved, "write collectively, so that few processes write large pieces"),
    "I7": ("write phases of the same size that take very different times", irregular, "look at what else uses the storage then; dedicated cores hide such times from the program"),
    "I8": ("independent MPI-IO of pieces that lie side by side", independent, "use the _all functions, or H5FD_MPIO_COLLECTIVE in HDF5"),
    "I9": ("one slow target", slow_target, "look at the storage behind that file: a full or failing disk, or another job"),
}  # fmt: skip
ALL_RULES = RULES | communication.RULES


def severity_of(seconds: float, time: float) -> str | None:
    reached = [word for word, share in zip(SEVERITIES, SHARES, strict=True) if time and seconds >= LEAST and seconds / time >= share]
    return reached[-1] if reached else None


def find(facts: Facts) -> list[Finding]:
    """The findings of a recording, those with most seconds first."""
    found, talk = [], facts.talk
    for code, (title, rule, advice) in ALL_RULES.items():
        is_talk = code in communication.RULES
        for case in rule(talk if is_talk else facts) if talk.is_there or not is_talk else ():
            severity = severity_of(case.seconds, facts.time)
            if severity:
                found.append(Finding(code, title, severity, case.seconds, case.ranks, case.evidence, advice, case.query))
    return sorted(found, key=lambda one: -one.seconds)
