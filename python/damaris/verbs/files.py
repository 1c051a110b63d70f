"""The table of files: one line a file, with who wrote and read it."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from damaris.verbs import text

SYSTEM = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/opt/", "/var/lib/")
HEADS = ["file", "written", "read", "by"]


def is_of_system(name: str, written: int) -> bool:
    """Programs, libraries, settings: of interest to few."""
    return not written and (name.startswith(SYSTEM) or "/site-packages/" in name or name.endswith(".pyc"))


@dataclass
class User:
    """A process, and the bytes that it wrote into a file and read from it."""

    rank: int | None
    program: str
    written: int = 0
    read: int = 0


def named(users: list[User]) -> str:
    """Ranks, and programs without one."""
    ranks = {one.rank for one in users if one.rank is not None}
    programs = sorted({PurePosixPath(one.program).name for one in users if one.rank is None})
    return ", ".join([f"rank{'s' * (len(ranks) > 1)} {text.ranges(ranks)}"] * bool(ranks) + programs)


def with_amounts(users: list[User], what: str) -> str:
    """Also how much each of several moved; "" for no users."""
    amounts = sorted(getattr(one, what) for one in users)
    if len(amounts) < 2:
        return named(users)
    least, most = text.size(amounts[0]), text.size(amounts[-1])
    return f"{named(users)}, each {least if least == most else f'{least} - {most}'}"


@dataclass
class File:
    name: str
    users: dict[tuple[str, int], User] = field(default_factory=dict)  # by host and pid

    @property
    def written(self) -> int:
        return sum(one.written for one in self.users.values())

    @property
    def read(self) -> int:
        return sum(one.read for one in self.users.values())

    def is_of_system(self) -> bool:
        return is_of_system(self.name, self.written)

    def by(self) -> str:
        """Who moved bytes; of a file without any who opened it."""
        writers, readers = ([one for one in self.users.values() if getattr(one, what)] for what in ("written", "read"))
        if not writers or not readers:
            return with_amounts(writers, "written") or with_amounts(readers, "read") or named(list(self.users.values()))
        return named(writers) if writers == readers else f"{named(writers)}, read by {named(readers)}"

    def row(self, folder: str) -> list[str]:
        moved = [text.size(count) if count else "" for count in (self.written, self.read)]
        return [text.within(self.name, folder), *moved, text.shortened(self.by(), 36)]


def of(run) -> list[File]:
    """All files of a recording, those with most bytes written first."""
    files: dict[str, File] = {}
    rows = run.query(f"select file, rank, host, pid, program, written, read from ({run.files().sql_query()})").fetchall()
    for name, rank, host, pid, program, written, read in rows:
        user = files.setdefault(name, File(name)).users.setdefault((host, pid), User(rank, program))
        user.written += written
        user.read += read
    return sorted(files.values(), key=lambda one: (-one.written, -one.read, one.name))


def show(title: str, files: list[File]) -> None:
    folder = text.shared_folder([one.name for one in files if one.written] or [one.name for one in files])
    text.console().print(f"{title}{', in ' + folder if folder else ''}:\n")
    text.show(HEADS, [one.row(folder) for one in files], left=("file", "by"), shrink="file")
