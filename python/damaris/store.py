"""One way to load a recording: `damaris.open("run")`."""

import json
from functools import cached_property
from pathlib import Path

from damaris.errors import Refused
from damaris.unify import VERSION, unify

FILES = """
select o.name as file, p.rank, p.host, p.pid,
       sum(c.bytes) filter (c.kind = 'write')::bigint as written, sum(c.bytes) filter (c.kind = 'read')::bigint as read,
       count(*) filter (c.kind = 'write') as writes, count(*) filter (c.kind = 'read') as reads,
       (sum(c."end" - c.begin) / 1e9)::double as seconds
from calls c join objects o on o.id = c.object join processes p on p.id = c.process
where c.layer in ('posix', 'stdio') group by all order by file, rank, pid
"""


class Recording:
    """The tables of a store: `calls objects processes losses`, each a DuckDB relation; `.df()` makes a data frame of one."""

    def __init__(self, store: Path):
        import duckdb

        self.store = store
        self.database = duckdb.connect()
        for table in ("calls", "objects", "processes", "losses"):
            files = store / "calls/*.parquet" if table == "calls" else store / f"{table}.parquet"
            quoted = str(files).replace("'", "''")
            self.database.execute(f"create view {table} as select * from read_parquet('{quoted}')")

    def query(self, sql: str):
        return self.database.sql(sql)

    @cached_property
    def calls(self):
        return self.database.view("calls")

    @cached_property
    def objects(self):
        return self.database.view("objects")

    @cached_property
    def processes(self):
        return self.database.view("processes")

    @cached_property
    def losses(self):
        return self.database.view("losses")

    def files(self):
        """Which file got how many bytes from whom: one row for each file and process, in bytes and seconds."""
        return self.query(FILES)


def is_current(run: Path) -> bool:
    try:
        made = json.loads((run / "store/store.json").read_text())
    except (OSError, ValueError):
        return False
    newest = max((path.stat().st_mtime for path in (run / "raw").glob("*.trace")), default=0)
    return made.get("version") == VERSION and newest <= (run / "store/store.json").stat().st_mtime


def open(run) -> Recording:  # noqa: A001
    """A recording's folder, or its store; unifies it first if that has not been done."""
    run = Path(run)
    if not run.is_dir():
        raise Refused(f"there is no recording '{run}'; make one with 'damaris record -o {run} PROGRAM'")
    if (run / "store.json").exists():
        return Recording(run)
    if not is_current(run):
        unify(run)
    return Recording(run / "store")
