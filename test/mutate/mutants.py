"""Mutants of a source file: one changed line each, as a slip of the pen would change it.

Before it: rooms.json, which names the folders. After it: tree.py, which builds them one at a time.
"""

import random
import re
from dataclasses import asdict, dataclass
from pathlib import Path

SOURCES = {".cpp", ".hpp", ".c", ".h"}
ORDERS = "order"  # the kind that only the model check can see

SWAPS = {  # kind -> what stands there -> what stands there then; with spaces, so that templates and pointers are left alone
    "comparison": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    "logic": {" && ": " || ", " || ": " && "},
    "arithmetic": {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / ", " += ": " -= ", " -= ": " += ", "++": "--",
                   " & ": " | ", " | ": " & ", " << ": " >> "},
    "return": {"return true;": "return false;", "return false;": "return true;", "return DC_OK;": "return DC_E_INTERNAL;",
               "return 0;": "return 1;", "return 1;": "return 0;", "return !": "return "},
    ORDERS: {f"memory_order_{order}": "memory_order_relaxed" for order in ("acquire", "release", "acq_rel", "seq_cst")},
}
CONDITION = re.compile(r"\b(if|while) \(")
NUMBER = re.compile(r"(?<![\w.'\"])(\d+)(?![\w.'\"])")
# A whole statement on a line: a call, or a value given to something that there is already. Not a declaration, nor a jump.
STATEMENT = re.compile(r"^\s*(?!return\b|using\b|typedef\b|static\b|const\b|auto\b|break\b|continue\b|else\b|case\b|delete\b|extern\b)"
                       r"([\w:.\->\[\]*()]+(\(.*\)| [-+*/|&^]?= .*)|(\+\+|--)[\w.\->]+);$")
ERROR_RETURN = re.compile(r"^\s*(if \(.*\) )?(throw\b.*|return (DC_E_\w+|-1|-errno|errno|nullptr|std::nullopt|\{\}|false);|return .*(error|fail).*;)$", re.I)
FAILURE = re.compile(r"return (DC_E_\w+|-1|-errno|errno);")


@dataclass(frozen=True)
class Mutant:
    room: str
    file: str  # beside the tree's root
    line: int  # from 1
    kind: str
    before: str
    after: str

    def as_json(self):
        return asdict(self)

    def diff(self):
        return f"{self.file}:{self.line}: {self.kind}\n  - {self.before.strip()}\n  + {self.after.strip()}"


def code_lines(text):
    """(number, line) of what is code: no comment, no directive; not where a comment of several lines goes on."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        begins, was_inside = stripped.startswith("/*"), inside
        inside = (inside or begins) and "*/" not in stripped
        if stripped and not (was_inside or begins or stripped.startswith(("//", "#", "*"))):
            yield number, line


def masked(line):
    """The same length, with nothing in it that is text or a comment."""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', lambda m: m[0][0] + "_" * (len(m[0]) - 2) + m[0][0], line)
    return line.split("//")[0].rstrip()


def closing(text, opened):
    """Where the parenthesis that opens at `opened` closes, or -1."""
    depth = 0
    for at in range(opened, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def changes(line):
    """(kind, changed line), each possible change of a line of code."""
    plain = masked(line)
    for kind, swaps in SWAPS.items():
        for old, new in swaps.items():
            for found in re.finditer(re.escape(old), plain):
                yield kind, line[:found.start()] + new + line[found.end():]
    for found in CONDITION.finditer(plain):
        end = closing(plain, found.end() - 1)
        if end > 0 and ";" not in plain[found.end():end] and "constexpr" not in plain[:found.end()]:
            yield "negation", f"{line[:found.end()]}!({line[found.end():end]}){line[end:]}"
    for found in NUMBER.finditer(plain):
        for step in (1, -1):
            if int(found[1]) + step >= 0:
                yield "constant", f"{line[:found.start()]}{int(found[1]) + step}{line[found.end():]}"
    indent = line[:len(line) - len(line.lstrip())]
    if ERROR_RETURN.match(plain):
        yield "dropped error", indent + ";"
    elif STATEMENT.match(plain):
        yield "removed", indent + ";"
    for found in FAILURE.finditer(plain):
        yield "return", line[:found.start()] + "return 0;" + line[found.end():]


def mutants_of(tree, room, folder):
    for path in sorted(Path(tree, folder).rglob("*")):
        if path.suffix in SOURCES:
            for number, line in code_lines(path.read_text(encoding="utf-8")):
                for kind, after in changes(line):
                    yield Mutant(room, str(path.relative_to(tree)), number, kind, line, after)


def sample(mutants, count, seed):
    """At most one of a line, in an order that is random but for the seed: so a part of it is a sample, too."""
    drawn, lines = [], set()
    order = sorted(mutants, key=lambda m: (m.file, m.line, m.kind, m.after))
    random.Random(f"mutants {seed}").shuffle(order)
    for mutant in order:
        if len(drawn) < count and (mutant.file, mutant.line) not in lines:
            lines.add((mutant.file, mutant.line))
            drawn.append(mutant)
    return drawn
