"""Answers to the questions of damaris.grammar, each one SQL statement over the store's `calls` (IOPro, sections 5.3 and 5.4).

Words of the paper and what they are here: process_id is the process, a world rank; mpi_call_id the ordinal `call`, from 0, of an outermost
I/O call of its process, whatever its layer; pvfs_call_id the ordinal `sub` of a read or write of storage in it; server_id the process that
works for it elsewhere, or else the object, a file. Times are in seconds, bytes in bytes.
"""

from damaris.grammar import FOUR, Question

# Reads and writes of storage: nothing of the program lies below them.
STORAGE = "layer in ('posix', 'stdio') and kind in ('read', 'write') and top"


def condition(question, name, column):
    """The SQL for a range; of everything: true."""
    pieces = question.ranges.get(name, ())
    return "(" + " or ".join(f"{column} between {low} and {high}" for low, high in pieces) + ")" if pieces else "true"


def union_ns(partition):
    """Time in which at least one of the calls of a partition went on, to be summed."""
    return (f'greatest(0, "end" - greatest("begin", coalesce(max("end") over (partition by {partition} order by "begin", id '
            f'rows between unbounded preceding and 1 preceding), "begin")))')  # fmt: skip


class Answers:
    """Asks one store. `database` has the tables of damaris.open."""

    def __init__(self, database):
        self.database = database
        self.fans_out = database.execute("select exists(select 1 from calls where branch <> root)").fetchall()[0][0]

    def ask(self, question: Question):
        """A DuckDB relation. Where a server is an object, `target` is its name."""
        about = "_".join(question.words[:2]) if question.words[0] == "latency" else question.words[0]
        answer = self.database.sql(getattr(self, about)(question))
        if "server" not in answer.columns or self.fans_out:
            return answer
        return self.database.sql("select answer.*, o.name as target from answer left join objects o on o.id = answer.server")

    def scope(self, question, columns="c.*"):
        """The calls that the ranges of process and call select, with the process and the ordinal of the call that they belong to."""
        if not self.fans_out:
            return (f"select {columns}, c.process as asker, c.io as call from calls c where c.io is not null"
                    f" and {condition(question, 'process', 'c.process')} and {condition(question, 'call', 'c.io')}")  # fmt: skip
        return (f"select {columns}, r.process as asker, r.io as call from calls c join calls r on r.id = c.root where r.io is not null"
                f" and {condition(question, 'process', 'r.process')} and {condition(question, 'call', 'r.io')}")  # fmt: skip

    # Latency Breakdown

    def latency_breakdown(self, question):
        inclusive = question.words[2] == "inclusive"
        keys = [f"asker as {name}" if name == "process" else name for name in ("process", "call") if question.given(name)]
        if self.fans_out:
            return self.breakdown_of_branches(question, keys, inclusive)
        value = 'sum("end" - "begin") filter (top)' if inclusive else 'sum("end" - "begin" - below)'
        return f"select {', '.join([*keys, 'layer'])}, {value} / 1e9 as seconds from ({self.scope(question)}) group by all order by all"

    def breakdown_of_branches(self, question, keys, inclusive):
        """Level by level from the inside: the sum of a lane, a thread of a process; the maximum of the lanes that one call set to work; the
        sum over the calls (equations 3 and 4); added to the branch above. `below` knows the calls of the same thread only, so the
        exclusive time of a call is also less what it waits for."""
        run = self.database.execute
        run(f"create or replace temp table scope as {self.scope(question)}")
        run("""create or replace temp table branches as
            with recursive tree as (
              select id as branch, id as root, null::bigint as above, null::bigint as caller, 0 as level from scope where id = root
              union all
              select b.id, t.root, t.branch, b.parent, t.level + 1
              from scope b join scope c on c.id = b.parent and c.branch <> b.branch join tree t on t.branch = c.branch where b.id = b.branch)
            select t.*, s.process, s.thread, s."end" - s."begin" as duration from tree t join scope s on s.id = t.branch""")
        run("""create or replace temp table waits as
            select caller, max(ns) as ns from (select caller, process, thread, sum(duration) as ns from branches where level > 0 group by all)
            group by all""")
        value = '"end" - "begin"' if inclusive else '"end" - "begin" - below - coalesce(w.ns, 0)'
        run(f"""create or replace temp table times as
            select s.branch, s.layer, sum({value})::hugeint as ns from scope s left join waits w on w.caller = s.id
            where {"s.top" if inclusive else "true"} group by all""")
        for level in range(run("select coalesce(max(level), 0) from branches").fetchall()[0][0], 0, -1):
            run(f"""insert into times
                select above, layer, sum(ns) from (
                  select above, caller, layer, max(ns) as ns from (
                    select above, caller, process, thread, layer, sum(ns) as ns
                    from times join branches using (branch) where level = {level} group by all)
                  group by all)
                group by all""")
        return (f"select {', '.join([*keys, 'layer'])}, (sum(ns) / 1e9)::double as seconds from times join branches using (branch)"
                f" join (select id, asker, call from scope where id = root) on id = branch where level = 0 group by all order by all")  # fmt: skip

    # Latency Operation, Throughput, Energy, Call: what reaches storage

    def operations(self, question):
        """Each read and write of storage in the calls that are asked for."""
        server = "case when branch <> root then process else object end"
        numbered = (f"select *, row_number() over (partition by asker, call order by \"begin\", id) - 1 as sub, {server} as server"
                    f" from ({self.scope(question)}) where {STORAGE}")  # fmt: skip
        return f"select * from ({numbered}) where {condition(question, 'sub', 'sub')} and {condition(question, 'server', 'server')}"

    def latency_operation(self, question):
        one = f'select asker as process, call, sub, server, function, bytes, ("end" - "begin") / 1e9 as seconds from ({self.operations(question)})'
        how = question.words[2]
        if how == "list":
            return one + " order by process, call, sub"
        if how == "avg":
            return f"select process, call, count(*) as operations, avg(seconds) as seconds from ({one}) group by all order by all"
        return f"""select 'process' as view, process, call, arg_{how}(server, seconds) as server, {how}(seconds) as seconds
            from ({one}) group by process, call
            union all by name
            select 'server' as view, server, arg_{how}(process, seconds) as process, arg_{how}(call, seconds) as call, {how}(seconds) as seconds
            from ({one}) group by server order by view, process, call, server"""

    def busy(self, question, keys="asker, call, server"):
        """Bytes, operations and busy time at each target, of each call."""
        return (f"select {keys}, sum(bytes)::bigint as bytes, count(*) as operations, sum(ns) / 1e9 as busy"
                f" from (select *, {union_ns(keys)} as ns from ({self.operations(question)})) group by all")  # fmt: skip

    def throughput(self, question):
        """Bytes by second at each target, which add up (equation 2)."""
        return f"""with rates as (select *, bytes / nullif(busy, 0) as rate from ({self.busy(question)}))
            select 'process' as view, asker as process, call, null as server, sum(bytes)::bigint as bytes, sum(rate) as bytes_per_second
            from rates group by asker, call
            union all by name
            select 'server' as view, server, null as process, null as call, sum(bytes)::bigint as bytes, sum(bytes) / nullif(sum(busy), 0)
            as bytes_per_second from rates group by server order by view, process, call, server"""

    def energy(self, question):
        """Joules of each target: active while it works for the call, idle for the rest of the call. The busy times are listed."""
        active, idle = question.number("active"), question.number("idle")
        whole = f"select asker, call, (max(\"end\") - min(\"begin\")) / 1e9 as whole from ({self.scope(question)}) group by all"
        return f"""select asker as process, call, server, busy, greatest(whole - busy, 0) as idle,
            {active} * busy + {idle} * greatest(whole - busy, 0) as joules
            from ({self.busy(question)}) join ({whole}) using (asker, call) order by process, call, server"""

    def call(self, question):
        return f"select asker as process, server, count(*) as operations, sum(bytes)::bigint as bytes from ({self.operations(question)}) group by all order by all"

    # Table 1's other metrics

    def communication(self, question):
        """Time in messages and collective operations inside an I/O call."""
        return (f"select asker as process, call, sum(\"end\" - \"begin\") / 1e9 as seconds from ({self.scope(question)})"
                f" where layer = 'mpi' and top group by all order by all")  # fmt: skip

    def targets(self, question):
        return f"select asker as process, call, count(distinct server) as targets from ({self.operations(question)}) group by all order by all"

    def accesses(self, question):
        return f"select asker as process, call, count(*) as accesses from ({self.operations(question)}) group by all order by all"

    def latency_segment(self, question):
        """The mean latency of outermost I/O calls that begin between two times, in seconds since the first call of the recording."""
        span = " or ".join(f"since between {low} and {high}" for low, high in question.ranges["seconds"])
        return f"""select layer, function, count(*) as calls, avg("end" - "begin") / 1e9 as seconds, sum(bytes)::bigint as bytes
            from (select *, ("begin" - (select min("begin") from calls)) / 1e9 as since from ({self.scope(question)}) where id = root)
            where {span} group by all order by seconds desc"""


__all__ = ["FOUR", "Answers"]
