"""The table of files: one line a file, with who wrote and read it."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from damaris.verbs import text

SYSTEM = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/opt/", "/var/lib/")
HEADS = ["file", "written", "read", "by"]


@dataclass
class File:
    name: str
    written: int = 0
    read: int = 0
    users: dict[tuple[str, int], tuple[int | None, str, int]] = field(default_factory=dict)  # by host and pid: rank, program, bytes

    def is_of_system(self) -> bool:
        """Programs, libraries, settings: of interest to few."""
        return not self.written and (self.name.startswith(SYSTEM) or "/site-packages/" in self.name or self.name.endswith(".pyc"))

    def by(self) -> str:
        """Ranks, and programs without one; those that moved bytes, if any did."""
        users = [one for one in self.users.values() if one[2]] or list(self.users.values())
        ranks = [rank for rank, _, _ in users if rank is not None]
        programs = sorted({PurePosixPath(program).name for rank, program, _ in users if rank is None})
        named = [f"{'ranks' if len(set(ranks)) > 1 else 'rank'} {text.ranges(ranks)}"] if ranks else []
        return ", ".join(named + programs)

    def row(self, folder: str) -> list[str]:
        moved = [text.size(count) if count else "" for count in (self.written, self.read)]
        return [text.within(self.name, folder), *moved, text.shortened(self.by(), 24)]


def of(run) -> list[File]:
    """All files of a recording, those with most bytes written first."""
    files: dict[str, File] = defaultdict(lambda: File(""))
    rows = run.query(f"select file, rank, host, pid, program, written, read from ({run.files().sql_query()})").fetchall()
    for name, rank, host, pid, program, written, read in rows:
        one = files[name]
        one.name = name
        one.written += written
        one.read += read
        before = one.users.get((host, pid), (None, "", 0))[2]
        one.users[host, pid] = (rank, program, before + written + read)
    return sorted(files.values(), key=lambda one: (-one.written, -one.read, one.name))


def show(title: str, files: list[File]) -> None:
    folder = text.shared_folder([one.name for one in files if one.written] or [one.name for one in files])
    text.console().print(f"{title}{', in ' + folder if folder else ''}:\n")
    text.show(HEADS, [one.row(folder) for one in files], left=("file", "by"), shrink="file")
