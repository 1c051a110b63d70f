"""What findings and charts are made of: small tables in the recording's database, each of one look at the calls."""

from functools import cached_property

PAGE = 4096
MEGABYTE = 20  # class of accesses from which on they are large: two to this power
MOMENTS_OF_RUN = 2400  # bins, in `moments`
SAMPLE = 1_000_000  # calls that are enough to tell how calls lie beside each other
PAUSE = 50  # a pause of the run by this divides two phases

# Reads, writes and all else that reaches files: `class` is the power of two of their bytes, `edges` the ns of the pages in which unaligned ones begin and end.
ACCESSES = f"""
select object, process, kind, layer, case when bytes > 0 then floor(log2(bytes))::int end as class, count(*) as count, sum(bytes)::bigint as bytes,
       sum(ns)::bigint as ns, count("offset") as placed, count(*) filter ("offset" % {PAGE} <> 0) as unaligned,
       sum(ns * least(1.0, {2 * PAGE} / bytes)) filter ("offset" % {PAGE} <> 0 and bytes > 0) as edges,
       min("offset") as low, max("offset") as high, max(ns) as slowest_ns, arg_max(bytes, ns) as slowest_bytes
from storage group by all"""
MOMENTS = """
select process, kind, least(("begin" - {begin}) // {width}, {last})::int as bin, sum(bytes)::bigint as bytes, sum(ns)::bigint as ns,
       min("begin") as "begin", max("end") as "end"
from storage where kind in ('read', 'write', 'sync') group by all"""
FUNCTIONS = """
select process, layer, function, count(*) filter (top) as count, sum(bytes) filter (top and kind in ('read', 'write', 'send'))::bigint as bytes,
       sum("end" - "begin") filter (top)::bigint as ns, sum("end" - "begin" - below)::bigint as own
from calls group by all"""
# Bins of `moments` with the number of their phase, in which the program writes: exact, as a bin is shorter than a pause.
PHASES = """
with bins as (select bin, min("begin") as "begin", max("end") as "end" from moments where kind in ('write', 'sync') group by bin),
     gaps as (select bin, "begin" - max("end") over (order by bin rows between unbounded preceding and 1 preceding) as gap from bins)
select bin, (sum(coalesce(gap > {pause}, false)::int) over (order by bin))::int as phase from gaps"""


class Facts:
    def __init__(self, run):
        self.run = run
        [(begin, end, count)] = self.rows("""select min("begin"), max("end"), max(process) + 1 from calls""")
        self.has_calls = begin is not None
        self.begin, self.end, self.count = begin or 0, end or 0, count or 0  # ns, and how many processes
        self.bin_ns = max((self.end - self.begin) // MOMENTS_OF_RUN, 1)
        moments = MOMENTS.format(begin=self.begin, width=self.bin_ns, last=MOMENTS_OF_RUN - 1)
        phases = PHASES.format(pause=(self.end - self.begin) // PAUSE)
        for name, sql in (("accesses", ACCESSES), ("moments", moments), ("functions", FUNCTIONS), ("phases", phases)):
            run.database.execute(f"create or replace temp table {name} as {sql}")
        # By name, as the objects of several hosts may be one file.
        run.database.execute("create or replace temp view access as select a.*, o.name from accesses a join objects o on o.id = a.object")

    @cached_property
    def talk(self):
        """Its communication: a plan, which takes long to make."""
        from damaris.communication import Talk

        return Talk(self.run)

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
    def in_storage(self) -> float:
        """Seconds of these in calls that reach files."""
        return self.one("select coalesce(sum(ns), 0) / 1e9 from accesses")

    @cached_property
    def rate(self) -> float:
        """Bytes a second that this storage gives to large writes here; if there are none, to the best of the others."""
        large = self.one(f"select sum(bytes) / nullif(sum(ns), 0) * 1e9 from accesses where kind = 'write' and class >= {MEGABYTE}")
        return large or self.one("select approx_quantile(bytes / nullif(ns, 0), 0.95) * 1e9 from storage where kind = 'write' and bytes > 0") or 1e9

    def beyond(self, seconds: float, count: int) -> float:
        """What is left of a time when `count` bytes would have gone at that rate."""
        return max(0.0, seconds - count / self.rate)

    def phases(self) -> list[tuple]:
        """Times in which the program writes: begin and end in seconds, bytes, processes, and seconds in the calls of all processes and of the slowest."""
        return self.rows(f"""with by_process as (
              select phase, process, min("begin") as "begin", max("end") as "end", sum(bytes) as bytes, sum(ns) / 1e9 as seconds
              from moments join phases using (bin) where kind in ('write', 'sync') group by all)
            select (min("begin") - {self.begin}) / 1e9, (max("end") - {self.begin}) / 1e9, sum(bytes), list(process order by process), sum(seconds), max(seconds)
            from by_process group by phase order by phase""")
