"""What a client noted: which calls it began, what each returned and after how long. Written by client.c, also by one that was killed."""

import re
from dataclasses import dataclass, field

OF_THREAD = re.compile(r"^in (\d+) ")


@dataclass
class Call:
    number: int
    words: list
    line: str
    code: int = None  # None: it never returned
    seconds: float = 0.0
    sentence: str = ""
    thread: str = ""  # "": the one that made the client
    wrong: str = ""  # what a read did to its array, or a child to the run, and should not


@dataclass
class Ledger:
    source: int
    calls: list = field(default_factory=list)
    ended: bool = False  # the program came to its end

    def returned(self, *words):
        return [call for call in self.calls if call.words[0] in words and call.code is not None]


def read_ledger(runner, phase, source):
    ledger = Ledger(source)
    path = runner.ledger_path(phase, source)
    if not path.exists():
        return ledger
    script = runner.run.scripts[phase][source]
    begun = {}  # number -> call: threads of a client note theirs between each other
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        mark, *rest = text.split(" ", 4)
        if mark == ">":
            number = int(rest[0])
            line, of_thread = OF_THREAD.sub("", script[number]), OF_THREAD.match(script[number])
            begun[number] = Call(number, line.split(), line, thread=of_thread[1] if of_thread else "")
            ledger.calls.append(begun[number])
        elif mark == "=":
            call = begun[int(rest[0])]
            call.code, call.seconds = int(rest[1]), int(rest[2]) / 1e6
            call.sentence = rest[3] if len(rest) > 3 else ""
        elif mark == "!" and ledger.calls:
            ledger.calls[-1].wrong = text[2:]
        elif mark == ".":
            ledger.ended = True
    return ledger
