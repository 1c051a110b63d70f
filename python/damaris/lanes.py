"""The processes of a recording as people name and order them: by rank, then others by program and pid."""

from pathlib import Path


class Lanes:
    def __init__(self, run):
        rows = run.database.cursor().execute("select id, rank, host, pid, program, ended from processes order by coalesce(rank, 1000000000 + id), id").fetchall()
        self.facts = {id: (rank, host, pid, program, ended) for id, rank, host, pid, program, ended in rows}  # in their order
        self.place = {id: at for at, id in enumerate(self.facts)}
        self.hosts = sorted({host for _, host, *_ in self.facts.values()})

    def name(self, process: int) -> str:
        """With the host, where there are several."""
        rank, host, pid, program, _ = self.facts[process]
        name = f"rank {rank}" if rank is not None else f"{Path(program).name} {pid}"
        return f"{name} on {host}" if len(self.hosts) > 1 else name

    def is_killed(self, process: int) -> bool:
        return self.facts[process][4] == "killed"
