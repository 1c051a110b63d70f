"""What costs a program time in storage, by rules over the view `storage` of a recording. Each finding has a stable code, a severity by the share of the processes'
time at stake, evidence, the question that shows it, and advice."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

SEVERITIES = ("low", "medium", "high")
SHARES = (0.002, 0.02, 0.10)  # of the time of all processes, from which on a finding has this severity; below the first there is none
LEAST = 0.001  # seconds at stake that are worth a word
PAGE = 4096
SMALL = 64 * 1024


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


@dataclass
class Case:
    """What a rule has found; its seconds decide whether it becomes a finding."""

    seconds: float
    ranks: list[int]
    evidence: str
    query: str


class Facts:
    """What rules measure against."""

    def __init__(self, run):
        self.run = run

    def rows(self, sql: str) -> list[tuple]:
        return self.run.database.execute(sql).fetchall()

    def one(self, sql: str):
        return self.rows(sql)[0][0]

    @cached_property
    def processes(self) -> int:
        return self.one("select count(*) from processes where begin is not null")

    @cached_property
    def time(self) -> float:
        """Seconds of all processes together."""
        return self.one('select coalesce(sum("end" - begin), 0) / 1e9 from processes')

    @cached_property
    def rate(self) -> float:
        """Bytes a second that this storage gives to large writes here; if there are none, to the best of the others."""
        large = self.one(f"select sum(bytes) / nullif(sum(ns), 0) * 1e9 from storage where kind = 'write' and bytes >= {16 * SMALL}")
        best = self.one("select quantile_cont(bytes / nullif(ns, 0), 0.95) * 1e9 from storage where kind = 'write' and bytes > 0")
        return large or best or 1e9

    def beyond(self, seconds: float, count: int) -> float:
        """What is left of a time when `count` bytes would have gone at that rate."""
        return max(0.0, seconds - count / self.rate)


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
        from storage group by name having sum(bytes) filter (kind = 'write') > 0)
        select family, list(distinct process order by process), count(*), sum(seconds) from files where processes = 1
        group by family having count(distinct process) > 1 and count(*) >= 8 order by 4 desc limit 1""")
    for family, ranks, count, seconds in rows:
        yield Case(seconds or 0, ranks, f"{len(ranks)} processes wrote {count} files like {family}, each alone; opening and closing them took {seconds:.3g} s",
                   f"select name, process, sum(ns) / 1e9 from storage where regexp_replace(name, '[0-9]+', '#', 'g') = {quoted(family)} group by all")  # fmt: skip


def metadata_storm(facts: Facts) -> Iterator[Case]:
    rows = facts.rows("""select list(distinct process order by process), count(*) filter (kind not in ('read', 'write', 'sync')),
        coalesce(sum(ns) filter (kind not in ('read', 'write', 'sync')), 0) / 1e9, coalesce(sum(ns) filter (kind in ('read', 'write')), 0) / 1e9 from storage""")
    for ranks, count, seconds, moving in rows:
        if count > 100 * len(ranks or []) and seconds > moving:
            yield Case(seconds, ranks, f"{count:,} calls that open, close, seek and rename took {seconds:.3g} s, reading and writing {moving:.3g} s",
                       "select kind, function, count(*), sum(ns) / 1e9 from storage group by all order by 4 desc")  # fmt: skip


def small_writes(facts: Facts) -> Iterator[Case]:
    yield from worst(facts, f"""select name, list(distinct process order by process), count(*), sum(bytes), sum(ns) / 1e9, median(bytes) from storage
        where kind = 'write' and bytes > 0 group by name
        having count(*) > 100 and quantile_cont(bytes, 0.9) < {SMALL}""", "select bytes, count(*), sum(ns) / 1e9 from storage where {files} and kind = 'write' group by all order by 2 desc",
        lambda names, ranks, count, moved, seconds, row: f"{count:,} writes of {row[5]:,.0f} bytes (median) into {names} took {seconds:.3g} s; "
                    f"{moved:,} bytes in large writes take {moved / facts.rate:.3g} s here")  # fmt: skip


def unaligned(facts: Facts) -> Iterator[Case]:
    part = f"least(1.0, {2 * PAGE} / bytes)"
    rows = facts.rows(f"""select name, list(distinct process order by process), count(*), count(*) filter ("offset" % {PAGE} <> 0),
        sum(ns * {part}) filter ("offset" % {PAGE} <> 0) / 1e9 from storage
        where kind = 'write' and bytes >= {PAGE} and "offset" is not null and layer = 'posix' group by name
        having count(*) filter ("offset" % {PAGE} <> 0) > 0.5 * count(*) and count(*) > 8 order by 5 desc limit 1""")
    for name, ranks, count, wrong, seconds in rows:
        yield Case(seconds, ranks, f"{percent(wrong, count)} of {count:,} writes into {name} begin inside a page of {PAGE} bytes, of which the file system reads "
                   "the rest first", f"select \"offset\" % {PAGE}, count(*) from storage where name = {quoted(name)} and kind = 'write' group by all")  # fmt: skip


def read_back(facts: Facts) -> Iterator[Case]:
    rows = facts.rows("""select r.name, list(distinct r.process order by r.process), count(distinct r.id), sum(distinct r.bytes), sum(r.ns) / 1e9
        from storage r where r.kind = 'read' and r.bytes > 0 and exists (
          select 1 from storage w where w.kind = 'write' and w.object = r.object and w.process = r.process and w."end" <= r."begin"
          and w."offset" < r."offset" + r.bytes and r."offset" < w."offset" + w.bytes)
        group by r.name order by 5 desc limit 1""")
    for name, ranks, count, _, seconds in rows:
        yield Case(seconds, ranks, f"{count:,} reads of {name} got back what the same process had just written, in {seconds:.3g} s",
                   f"select process, kind, \"offset\", bytes from storage where name = {quoted(name)} and kind in ('read', 'write') order by \"begin\"")  # fmt: skip


def interleaved(facts: Facts) -> Iterator[Case]:
    yield from worst(facts, f"""with writes as (
          select *, lag(process) over (partition by object order by "offset") as before from storage
          where kind = 'write' and bytes between 1 and {16 * SMALL} and "offset" is not null)
        select name, list(distinct process order by process), count(*), sum(bytes), sum(ns) / 1e9, avg((before <> process)::int)
        from writes group by name having count(distinct process) > 1 and avg((before <> process)::int) > 0.5 and count(*) > 16""",
        "select name, \"offset\", bytes, process from storage where {files} and kind = 'write' order by 1, 2",
        lambda names, ranks, count, moved, seconds, row: f"{len(ranks)} processes wrote {names} in {count:,} pieces; {percent(row[5], 1)} of them lie "
                    "beside those of another process")  # fmt: skip


def independent(facts: Facts) -> Iterator[Case]:
    yield from worst(facts, f"""with writes as (
          select c.*, o.name, c."end" - c."begin" as ns, lag(process) over (partition by object order by "offset") as before
          from calls c join objects o on o.id = c.object where layer = 'mpiio' and c.top and c.kind = 'write'
          and function in ('MPI_File_write', 'MPI_File_write_at', 'MPI_File_iwrite_at') and bytes between 1 and {16 * SMALL})
        select name, list(distinct process order by process), count(*), sum(bytes), sum(ns) / 1e9, avg((before <> process)::int)
        from writes group by name having count(distinct process) > 1 and avg((before <> process)::int) > 0.25 and count(*) > 16""",
        "select name, function, process, count(*), sum(bytes) from calls join objects o on o.id = object where {files} and layer = 'mpiio' group by all",
        lambda names, ranks, count, moved, seconds, row: f"{count:,} independent MPI-IO writes of {len(ranks)} processes lie side by side in {names}")  # fmt: skip


def phases(facts: Facts) -> list[tuple]:
    """Times in which the program writes: begin and end in seconds, bytes, processes, and seconds in the calls of all processes and of the slowest. A pause of
    a fiftieth of the run divides two."""
    return facts.rows("""with writes as (
          select "begin", "end", bytes, process, ns, max("end") over (order by "begin", id rows between unbounded preceding and 1 preceding) as until
          from storage where kind in ('write', 'sync')),
        divided as (select *, sum(("begin" - until > (select max("end") - min("begin") from calls) / 50)::int) over (order by "begin") as phase from writes),
        processes as (select coalesce(phase, 0) as phase, process, min("begin") as "begin", max("end") as "end", sum(bytes) as bytes, sum(ns) / 1e9 as seconds
          from divided group by all)
        select (min("begin") - (select min("begin") from calls)) / 1e9, (max("end") - (select min("begin") from calls)) / 1e9, sum(bytes),
        list(process order by process), sum(seconds), max(seconds) from processes group by phase order by 1""")


def irregular(facts: Facts) -> Iterator[Case]:
    found = phases(facts)
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
                   f"in {len(slow)} of {len(alike)} write phases with as many bytes, writing took a process more than twice the usual {usual:.3g} s; "
                   f"the longest, at {begin:.3g} s, {longest:.3g} s",
                   "select process, \"begin\", ns / 1e9, bytes, name from storage where kind in ('write', 'sync') order by ns desc limit 50")  # fmt: skip


def slow_target(facts: Facts) -> Iterator[Case]:
    rows = facts.rows("""with files as (
          select name, regexp_replace(name, '[0-9]+', '#', 'g') as family, list(distinct process order by process) as ranks, sum(bytes) as bytes,
                 sum(ns) / 1e9 as seconds, sum(ns) / sum(bytes) as cost from storage where kind = 'write' and bytes > 0 group by name),
        compared as (select *, median(cost) over (partition by family) as usual, count(*) over (partition by family) as files from files)
        select name, ranks, bytes, seconds, cost / usual, bytes * (cost - usual) / 1e9, files from compared
        where files >= 4 and cost > 3 * usual order by 6 desc limit 1""")
    for name, ranks, _, seconds, times, beyond, files in rows:
        yield Case(beyond, ranks, f"a byte of {name} took {times:.1f} times as long as one of the {files - 1} files like it; {seconds:.3g} s in all",
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


def severity_of(seconds: float, time: float) -> str | None:
    reached = [word for word, share in zip(SEVERITIES, SHARES, strict=True) if time and seconds >= LEAST and seconds / time >= share]
    return reached[-1] if reached else None


def find(run) -> list[Finding]:
    """The findings of a recording, those with most seconds first."""
    facts, found = Facts(run), []
    for code, (title, rule, advice) in RULES.items():
        for case in rule(facts):
            severity = severity_of(case.seconds, facts.time)
            if severity:
                found.append(Finding(code, title, severity, case.seconds, case.ranks, case.evidence, advice, case.query))
    return sorted(found, key=lambda one: -one.seconds)
