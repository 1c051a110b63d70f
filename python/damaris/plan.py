"""Plans: what a program does, one operation a line, for `damaris replay` to do again elsewhere. docs/plan-format.md describes the lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(slots=True)
class Op:
    """A line of a plan. `which`: the file, message or collective; `ns`: recorded, or own cost."""

    kind: str
    which: int = 0
    ns: int = 0
    offset: int = 0
    bytes: int = 0
    words: str = ""  # of an open its flags; "root"
    call: int = -1  # the recorded one that it is of; not in the text

    def line(self) -> str:
        match self.kind:
            case "c":
                return f"c {self.ns}"
            case "w" | "r":
                return f"{self.kind} {self.which} {self.offset} {self.bytes} # {self.ns}"
            case "t":
                return f"t {self.which} {self.bytes} # {self.ns}"
            case "o":
                return f"o {self.which} {self.words} # {self.ns}"
            case "s" | "m" | "u" | "x":
                return f"{self.kind} {self.which} # {self.ns}"
            case "p":
                return f"p {self.which} {self.ns} {self.bytes}"
        return f"{self.kind} {self.which} {self.ns} {self.words}".rstrip()


@dataclass
class File:
    name: str
    initial: int = 0  # bytes that it had before
    size: int = 0  # so far, in the order of time


@dataclass
class Process:
    """One thread."""

    about: str
    ops: list[Op]


@dataclass
class Plan:
    layer: str
    recorded: int  # ns
    files: list[File]
    processes: list[Process]
    collectives: dict[int, list[int]]  # members by rank, as indices of processes
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield "damaris plan 1"
        yield from (f"# {note}" for note in self.notes)
        yield f"layer {self.layer}"
        yield f"recorded {self.recorded}"
        for number, file in enumerate(self.files):
            yield f"file {number} {file.initial} {escaped(file.name)}"
        for number, members in sorted(self.collectives.items()):
            yield f"collective {number} {' '.join(map(str, members))}"
        for number, process in enumerate(self.processes):
            yield f"process {number} {process.about}"
            yield from (op.line() for op in process.ops)

    def write(self, to: TextIO) -> None:
        to.writelines(f"{line}\n" for line in self.lines())


def escaped(name: str) -> str:
    """Readers take blanks at its ends away."""
    inner = len(name) - len(name.lstrip(" \t")), len(name.rstrip(" \t"))
    return "".join(f"%{ord(one):02X}" if one in "%\n#\r" or not inner[0] <= at < inner[1] else one for at, one in enumerate(name))


def joined(ops: Iterable[Op]) -> list[Op]:
    """With the gaps that follow each other as one."""
    found: list[Op] = []
    for op in ops:
        if op.kind == "c" and found and found[-1].kind == "c":
            found[-1].ns += op.ns
        elif op.kind != "c" or op.ns:
            found.append(op)
    return found
