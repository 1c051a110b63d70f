"""One way to load a recording: `damaris.open("run")`."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from damaris.errors import Refused

if TYPE_CHECKING:
    import duckdb  # at run time where it is needed: a verb says that it is missing

VERSION = 3  # of stores
TABLES = ("calls", "objects", "processes", "losses", "messages", "collectives", "requests", "members", "opens", "links", "gaps")
# Those of the layers above are made of these.
FILES = """
select o.name as file, p.rank, p.host, p.pid, p.program,
       coalesce(sum(c.bytes) filter (c.kind = 'write'), 0)::bigint as written,
       coalesce(sum(c.bytes) filter (c.kind = 'read'), 0)::bigint as read,
       count(*) filter (c.kind = 'write') as writes, count(*) filter (c.kind = 'read') as reads,
       (sum(c."end" - c.begin) / 1e9)::double as seconds
from calls c join objects o on o.id = c.object join processes p on p.id = c.process
where c.layer in ('posix', 'stdio') and c.top and o.kind = 'file'
group by all order by file, rank, host, pid, program
"""

# The calls that reach files and did not fail, each with the name of its file and its duration in ns.
STORAGE = """
select c.*, o.name, c."end" - c."begin" as ns from calls c join objects o on o.id = c.object
where c.layer in ('posix', 'stdio') and c.top and o.kind = 'file' and (c.flags & 1) = 0
"""


def quoted(path: Path) -> str:
    """As SQL has it, and so that DuckDB finds no pattern in it."""
    return "'" + "".join(f"[{one}]" if one in "[*?" else one for one in str(path)).replace("'", "''") + "'"


def about(store: Path) -> dict:
    """What a store says of itself; empty if it is not whole."""
    try:
        made = json.loads((store / "store.json").read_text())
        return made if isinstance(made, dict) else {}
    except (OSError, ValueError):
        return {}


def check(store: Path) -> None:
    """Raises Refused unless this version reads the store."""
    version = about(store).get("version")
    if version != VERSION:
        raise Refused(f"the store '{store}' is of version {version}, this damaris reads version {VERSION}; make it anew from its raw files with "
                      f"'damaris unify {store.parent}', or ask it with the damaris that made it")  # fmt: skip
    missing = [name for name in (*(f"{table}.parquet" for table in TABLES if table != "calls"), "calls") if not (store / name).exists()]
    if missing:
        raise Refused(f"the store '{store}' is not whole: {missing[0]} is missing; make it anew with 'damaris unify {store.parent}'")


class Recording:
    """The tables of a store, each a DuckDB relation; `.df()` makes a data frame of one."""

    def __init__(self, store: Path):
        import duckdb

        check(store)
        self.store = store
        self.database = duckdb.connect()
        self.database.execute("set parquet_metadata_cache = true")  # a third of a question with ranges
        for table in TABLES:
            files = f"{quoted(store / 'calls')[:-1]}/*.parquet'" if table == "calls" else quoted(store / f"{table}.parquet")
            try:
                self.database.execute(f"create view {table} as select * from read_parquet({files})")
            except duckdb.Error as error:
                raise Refused(f"the store '{store}' is damaged: {str(error).splitlines()[0]}; make it anew with 'damaris unify {store.parent}'") from error
        self.database.execute(f"create view storage as {STORAGE}")

    @cached_property
    def about(self) -> dict:
        """What store.json says: version, calls, and what of MPI found no partner."""
        return about(self.store)

    def query(self, sql: str) -> duckdb.DuckDBPyRelation:
        return self.database.sql(sql)

    @cached_property
    def calls(self) -> duckdb.DuckDBPyRelation:
        return self.database.view("calls")

    @cached_property
    def objects(self) -> duckdb.DuckDBPyRelation:
        return self.database.view("objects")

    @cached_property
    def processes(self) -> duckdb.DuckDBPyRelation:
        return self.database.view("processes")

    @cached_property
    def losses(self) -> duckdb.DuckDBPyRelation:
        return self.database.view("losses")

    @cached_property
    def answers(self) -> "Answers":
        from damaris.latency import Answers

        return Answers(self.database, self.about.get("moving", ()))

    def ask(self, question: str) -> duckdb.DuckDBPyRelation:
        """The answer to a question of damaris.grammar, such as "Latency Breakdown Inclusive [0-3] [1-10]"."""
        from damaris.grammar import parse

        return self.answers.ask(parse(question))

    def asked(self, words: str, **ranges):
        """The same as a data frame. A range is a number, a (first, last) or None, which is all."""
        from damaris.grammar import question

        return self.answers.ask(question(words, **ranges)).df()

    def latency(self, kind: str = "inclusive", process=None, call=None):
        """Seconds by layer; `kind`: inclusive or exclusive."""
        return self.asked(f"latency breakdown {kind}", process=process, call=call)

    def operations(self, kind: str = "list", process=None, call=None, sub=None, server=None):
        """Seconds of reads and writes of storage; `kind`: list, max, min or avg."""
        return self.asked(f"latency operation {kind}", process=process, call=call, sub=sub, server=server)

    def throughput(self, process=None, call=None, sub=None, server=None):
        """Bytes by second."""
        return self.asked("throughput", process=process, call=call, sub=sub, server=server)

    def energy(self, active: float, idle: float, process=None, call=None, sub=None, server=None):
        """Joules of each target, whose power is `active` and `idle` watts."""
        return self.asked("energy", active=active, idle=idle, process=process, call=call, sub=sub, server=server)

    def files(self) -> duckdb.DuckDBPyRelation:
        """Which file got how many bytes from whom: one row for each file and process, in bytes and seconds."""
        return self.query(FILES)


def open(run: str | os.PathLike) -> Recording:  # noqa: A001
    """A recording's folder, or its store; unifies it first if that has not been done."""
    run = Path(run)
    if not run.is_dir():
        raise Refused(f"there is no recording '{run}'; make one with 'damaris record -o {run} PROGRAM'")
    if (run / "store.json").exists():
        return Recording(run)
    from damaris.unify import unify

    unify(run, again=False)
    return Recording(run / "store")
