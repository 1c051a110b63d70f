"""Answers to the questions of damaris.grammar, each one SQL statement over the store's `calls` (IOPro, sections 5.3 and 5.4).

Words of the paper and what they are here: process_id is the process, a world rank; mpi_call_id the ordinal `call`, from 0, of an outermost
I/O call of its process, whatever its layer; pvfs_call_id the ordinal `sub` of a fragment of it: a read or write of storage, or a call that sets
servers to work; server_id the process that works for it elsewhere, or else the object, a file. Times are in seconds, bytes in bytes.
"""

from damaris.grammar import Question

# Reads and writes of storage: nothing of the program lies below them.
STORAGE = "layer in ('posix', 'stdio') and kind in ('read', 'write') and top"
ORDER = {"latency_segment": "seconds desc"}
# How long a call waits for a branch that it set to work: not for one that begins when it has returned, as Damaris's server does.
WAIT = 'case when b."begin" < c."end" then b."end" - b."begin" else 0 end'
WITHOUT_SERVER = ("latency_breakdown", "latency_segment", "communication", "targets", "accesses")


def condition(question, name, column):
    """The SQL for a range; of everything: true."""
    pieces = question.ranges.get(name, ())
    return "(" + " or ".join(f"{column} between {low} and {high}" for low, high in pieces) + ")" if pieces else "true"


def union_ns(partition):
    """Time in which at least one of the calls of a partition went on, to be summed."""
    return (f'greatest(0, "end" - greatest("begin", coalesce(max("end") over (partition by {partition} order by "begin", id '
            f'rows between unbounded preceding and 1 preceding), "begin")))')  # fmt: skip


def keys_of(question):
    """What rows are told apart by: calls only where a range is given, so that a question about everything has a short answer."""
    one_by_one = question.given("process") or question.given("call")
    return ["process", *(["call"] if one_by_one else []), *(["sub"] if question.given("sub") else [])]


class Answers:
    """Asks one store. `database` has the tables of damaris.open; `moving`: the functions that read and write storage, if that is known."""

    def __init__(self, database, moving=()):
        self.database = database
        # One word to look at instead of two: half of the time of a question about everything.
        self.storage = f"function in ({', '.join(map(repr, moving))}) and top" if moving else STORAGE
        self.fans_out = database.execute("select exists(select 1 from calls where branch <> root)").fetchall()[0][0]

    def ask(self, question: Question):
        """A DuckDB relation. Where a server is an object, `target` is its name."""
        about = "_".join(question.words[:2]) if question.words[0] == "latency" else question.words[0]
        answer = getattr(self, about)(question)
        if not (self.fans_out or about in WITHOUT_SERVER or question.words[-1] == "avg"):
            answer = f"select answer.*, o.name as target from ({answer}) answer left join objects o on o.id = answer.server"
        return self.database.sql(f"select * from ({answer}) order by {ORDER.get(about, 'all')}")

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
        return f"select {', '.join([*keys, 'layer'])}, {value} / 1e9 as seconds from ({self.scope(question)}) group by all"

    def find_branches(self, question):
        """The table `branches`: each with the one above it and the call there that set it to work, its caller; `fragment` is the caller in the
        outermost branch."""
        run = self.database.execute
        run(f"create or replace temp table scope as {self.scope(question)}")
        run("""create or replace temp table branches as
            with recursive tree as (
              select id as branch, id as root, null::bigint as above, null::bigint as caller, null::bigint as fragment, 0 as level
              from scope where id = root
              union all
              select b.id, t.root, t.branch, b.parent, coalesce(t.fragment, b.parent), t.level + 1
              from scope b join scope c on c.id = b.parent and c.branch <> b.branch join tree t on t.branch = c.branch where b.id = b.branch)
            select t.*, s.process, s.thread, s."end" - s."begin" as duration from tree t join scope s on s.id = t.branch""")

    def breakdown_of_branches(self, question, keys, inclusive):
        """Level by level from the inside: the sum of a lane, a thread of a process; the maximum of the lanes that one call set to work; the
        sum over the calls (equations 3 and 4); added to the branch above. A branch that works for several calls counts for each by its share.
        `below` knows the calls of the same thread only, so the exclusive time of a call is also less what it waits for, and the inclusive
        time less what branches inside it do for others."""
        run = self.database.execute
        self.find_shares(question)
        if inclusive:
            run("""create or replace temp table others as
                with recursive around as (
                  select distinct call as branch, inside as id from links where call in (select id from calls where branch = id) and inside is not null
                  union all
                  select a.branch, c.parent from around a join calls c using (id) where c.parent is not null and c.branch <> c.id)
                select a.id, sum(b."end" - b."begin") as ns from around a join calls b on b.id = a.branch group by all""")
        else:
            run(f"""create or replace temp table others as
                select id, max(ns) as ns from (
                  select c.id, b.process, b.thread, sum({WAIT}) as ns from (select distinct branch, caller from shares where level > 0) s
                  join calls b on b.id = s.branch join calls c on c.id = s.caller group by all)
                group by all""")
        value = '"end" - "begin"' if inclusive else '"end" - "begin" - below'
        run(f"""create or replace temp table times as
            select c.branch, c.layer, sum({value} - coalesce(o.ns, 0))::double as ns from calls c left join others o using (id)
            where c.branch in (select branch from shares) and {"(c.top or c.id = c.branch)" if inclusive else "true"} group by all""")
        for level in range(run("select coalesce(max(level), 0) from shares").fetchall()[0][0], 0, -1):
            run(f"""insert into times
                select above, layer, sum(ns) from (
                  select above, caller, layer, max(ns) as ns from (
                    select above, caller, process, thread, layer, sum(ns * share) as ns
                    from times join shares using (branch) where level = {level} group by all)
                  group by all)
                group by all""")
        return (f"select {', '.join([*keys, 'layer'])}, sum(ns) / 1e9 as seconds from times"
                f" join (select c.id as branch, c.process as asker, c.io as call from shares s join calls c on c.id = s.branch where level = 0) using (branch)"
                f" group by all")  # fmt: skip

    def find_shares(self, question):
        """The table `shares`: each branch that works for the calls that are asked for, with each call that set it to work, its caller, in the
        branch `above`, and how much of it is done for that one, by the bytes in `links`."""
        self.database.execute(f"""create or replace temp table shares as
            with recursive callers as (
              select b.id as branch, coalesce(l.writer, b.parent) as caller, coalesce(l.bytes / nullif(sum(l.bytes) over (partition by b.id), 0), 1 / count(*) over (partition by b.id)) as share
              from calls b left join (select call, writer, sum(bytes) as bytes from links group by all) l on l.call = b.id
              where b.branch = b.id and b.root <> b.id),
            tree as (
              select c.id as branch, null::bigint as above, null::bigint as caller, 1.0::double as share, 0 as level from calls c
              where c.id = c.root and c.io is not null and {condition(question, 'process', 'c.process')} and {condition(question, 'call', 'c.io')}
              union
              select u.branch, t.branch, u.caller, u.share, t.level + 1 from callers u join calls c on c.id = u.caller join tree t on t.branch = c.branch)
            select branch, above, caller, share, max(max(level)) over (partition by branch) as level, process, thread
            from tree join (select id as branch, process, thread from calls where id = branch) using (branch)
            group by branch, above, caller, share, process, thread""")

    # Latency Operation, Throughput, Energy, Call: what reaches storage

    def operations(self, question, listed=False):
        """Each read and write of storage in the calls that are asked for. `sub` is known where it is asked for, or all are `listed`."""
        if self.fans_out:
            self.find_branches(question)
            numbered = f"""select s.*, case when s.branch <> s.root then s.process else s.object end as server,
                  dense_rank() over (partition by s.asker, s.call order by f."begin", f.id) - 1 as sub
                from (select * from scope where {self.storage}) s join branches b using (branch) join scope f on f.id = coalesce(b.fragment, s.id)
                where s.id not in (select caller from branches where caller is not null)"""
        else:
            sub = 'row_number() over (partition by asker, call order by "begin", id) - 1' if listed or question.given("sub") else "null"
            numbered = f"select *, {sub} as sub, object as server from ({self.scope(question)}) where {self.storage}"
        return f"select * from ({numbered}) where {condition(question, 'sub', 'sub')} and {condition(question, 'server', 'server')}"

    def latency_operation(self, question):
        how, keys = question.words[2], keys_of(question)
        one = (f'select asker as process, call, sub, server, layer, function, bytes, ("end" - "begin") / 1e9 as seconds'
               f' from ({self.operations(question, how == "list")})')  # fmt: skip
        if how == "list":
            return one
        by = ", ".join(keys)
        if how == "avg":
            return f"select {by}, count(*) as operations, avg(seconds) as seconds from ({one}) group by all"

        def at(*names):
            return ", ".join(f"arg_{how}({name}, seconds) as {name}" for name in names)

        of_process = at(*(name for name in ("call", "server", "layer") if name not in keys))
        return f"""with one as materialized ({one})
            select 'process' as view, {by}, {of_process}, {how}(seconds) as seconds from one group by {by}
            union all by name
            select 'server' as view, server, {at("process", "call", "layer")}, {how}(seconds) as seconds from one group by server"""

    def busy(self, question, keys):
        """Bytes, operations and busy time at each target, of each call if that is one of the keys. Only where calls set others to work, operations
        overlap."""
        ns = union_ns("asker, call, server") if self.fans_out else '"end" - "begin"'
        return (f"select {', '.join(keys)}, server, sum(bytes)::bigint as bytes, count(*) as operations, sum(ns) / 1e9 as busy"
                f" from (select asker as process, * exclude (process), {ns} as ns from ({self.operations(question)})) group by all")  # fmt: skip

    def throughput(self, question):
        """Bytes by second at each target while it works; `together` is the sum of the targets of a call (equation 2). Then each server's, by process."""
        keys = keys_of(question)
        by = ", ".join(keys)
        return f"""with rates as (select *, bytes / nullif(busy, 0) as bytes_per_second from ({self.busy(question, keys)}))
            select 'process' as view, {by}, server, bytes, bytes_per_second, sum(bytes_per_second) over (partition by {by}) as together from rates
            union all by name
            select 'server' as view, server, process, sum(bytes)::bigint as bytes, sum(bytes) / nullif(sum(busy), 0) as bytes_per_second
            from rates group by server, process"""

    def energy(self, question):
        """Joules of each target: active while it works for a call, or for the calls of a process, idle for the rest of their time. The busy times are
        listed."""
        active, idle = question.number("active"), question.number("idle")
        keys = ["process", "call"] if "call" in keys_of(question) else ["process"]
        by = ", ".join(keys)
        whole = f"""select {by}, sum("end" - "begin") / 1e9 as whole
            from (select asker as process, call, "begin", "end" from ({self.scope(question, 'c.id, c.root, c."begin", c."end"')}) where id = root) group by all"""
        return f"""select {by}, server, busy, greatest(whole - busy, 0) as idle, {active} * busy + {idle} * greatest(whole - busy, 0) as joules
            from ({self.busy(question, keys)}) join ({whole}) using ({by})"""

    def call(self, question):
        return f"select asker as process, server, count(*) as operations, sum(bytes)::bigint as bytes from ({self.operations(question)}) group by all"

    # Table 1's other metrics

    def communication(self, question):
        """Time in messages and collective operations inside I/O calls."""
        return (f"select {', '.join(keys_of(question))}, sum(\"end\" - \"begin\") / 1e9 as seconds"
                f" from (select asker as process, call, * exclude (process) from ({self.scope(question)})) where layer = 'mpi' and top group by all")  # fmt: skip

    def of_operations(self, question, value):
        return f"select {', '.join(keys_of(question))}, {value} from (select asker as process, call, server from ({self.operations(question)})) group by all"

    def targets(self, question):
        return self.of_operations(question, "count(distinct server) as targets")

    def accesses(self, question):
        return self.of_operations(question, "count(*) as accesses")

    def latency_segment(self, question):
        """The mean latency of outermost I/O calls that begin between two times, in seconds since the first call of the recording."""
        span = " or ".join(f"since between {low} and {high}" for low, high in question.ranges["seconds"])
        return f"""select layer, function, count(*) as calls, avg("end" - "begin") / 1e9 as seconds, sum(bytes)::bigint as bytes
            from (select *, ("begin" - (select min("begin") from calls)) / 1e9 as since from ({self.scope(question)}) where id = root)
            where {span} group by all"""

