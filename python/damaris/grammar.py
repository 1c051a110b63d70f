"""The language of questions about latency, throughput, energy and calls (IOPro, table 2), and what it means.

    Latency Breakdown Inclusive|Exclusive [process] [call]
    Latency Operation List|Max|Min|Avg    [process] [call] [sub] [server]
    Throughput                            [process] [call] [sub] [server]     (also Thru.)
    Energy [active watts] [idle watts]    [process] [call] [sub] [server]
    Call                                  [process] [call] [sub] [server]
    Communication|Targets|Accesses        [process] [call]
    Latency Segment [seconds]             [process]

A range is [3], [0-3], [0,2,5-7] or [-], which is all and what a missing one means; the dash may be one of print. Without a range of
process or call, the rows are those of processes, not of each of their calls.
"""

import difflib
import re
from dataclasses import dataclass, field

from damaris.errors import Refused

TOKEN = re.compile(r"\s*(?:(\[[^\]]*\])|([^\s\[\]]+)|(\S))")
DASHES = str.maketrans("–—−", "---")
FOUR = ("process", "call", "sub", "server")
# What the words lead to: the next words, or the ranges that follow.
WORDS = {
    "latency": {
        "breakdown": {"inclusive": ("process", "call"), "exclusive": ("process", "call")},
        "operation": {"list": FOUR, "max": FOUR, "min": FOUR, "avg": FOUR},
        "segment": ("seconds", "process"),
    },
    "throughput": FOUR,
    "energy": ("active", "idle", *FOUR),
    "call": FOUR,
    "communication": ("process", "call"),
    "targets": ("process", "call"),
    "accesses": ("process", "call"),
}
SAME = {"thru.": "throughput", "thru": "throughput", "maximum": "max", "minimum": "min", "average": "avg"}
WATTS = ("active", "idle")


@dataclass(frozen=True)
class Question:
    """What is asked: the words, and for each range its pieces, first and last number; no pieces: all."""

    words: tuple[str, ...]
    ranges: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    def given(self, name) -> bool:
        return bool(self.ranges.get(name))

    def number(self, name) -> float:
        return self.ranges[name][0][0]


class Sentence:
    """The words and ranges of a question, each with its place in the text."""

    def __init__(self, text):
        self.text = text
        self.tokens = []
        at = 0
        while match := TOKEN.match(text, at):
            self.tokens.append((match[0].strip(), match.end() - len(match[0].lstrip())))
            if match[3]:
                self.refuse(self.tokens[-1], "a range ends with ']'")
            at = match.end()
        self.next = 0

    def take(self):
        """The next word or range, or an empty one at the end."""
        if self.next == len(self.tokens):
            return "", len(self.text.rstrip()) + 1
        self.next += 1
        return self.tokens[self.next - 1]

    def refuse(self, token, why):
        word, at = token
        raise Refused(f"{why}\n  {self.text}\n  {' ' * at}{'^' * max(len(word), 1)}")


def word_of(sentence, known):
    token = sentence.take()
    word = SAME.get(token[0].lower(), token[0].lower())
    if word in known:
        return word
    names = ", ".join(name.capitalize() for name in known)
    if not word:
        sentence.refuse(token, f"here must be one of {names}")
    near = difflib.get_close_matches(word, [*known, *(same for same in SAME if SAME[same] in known)], 1)
    meant = f"; did you mean '{SAME.get(near[0], near[0]).capitalize()}'?" if near else f"; there are {names}"
    sentence.refuse(token, f"'{token[0]}' is not known here{meant}")
    return None


def number_of(sentence, token, text):
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        sentence.refuse(token, f"'{text}' is no number")


def pieces_of(sentence, token, name):
    """The pieces of a range: ((0, 3), (5, 5)); of [-] none."""
    inside = token[0][1:-1].translate(DASHES).replace(" ", "")
    if inside in ("", "-"):
        return ()
    pieces = []
    for part in inside.split(","):
        first, dash, last = part.partition("-")
        low = number_of(sentence, token, first)
        high = number_of(sentence, token, last) if dash else low
        if high < low:
            sentence.refuse(token, f"the range of {name} ends before it begins")
        pieces.append((low, high))
    return tuple(pieces)


def question(words: str, **ranges) -> Question:
    """The same from Python: a range is a number, a (first, last) or None."""
    pieces = {name: () if one is None else (tuple(one),) if isinstance(one, tuple | list) else ((one, one),) for name, one in ranges.items()}
    asked = " ".join(f"[{'-'.join(map(str, pieces[name][0]))}]" if pieces.get(name) else "[-]" for name in known_ranges(words))
    return parse(f"{words} {asked}")


def known_ranges(words: str) -> tuple[str, ...]:
    known = WORDS
    for word in words.split():
        known = known[word] if isinstance(known, dict) and word in known else parse(words)
    return known


def parse(text: str) -> Question:
    """What `text` asks. Raises Refused, which marks the place of an error."""
    sentence = Sentence(text.strip())
    words, known = [], WORDS
    while isinstance(known, dict):
        words.append(word_of(sentence, known))
        known = known[words[-1]]
    ranges = {}
    for name in known:
        token = sentence.take()
        if token[0].translate(DASHES) == "-":
            token = ("[-]", token[1])
        if token[0] and not token[0].startswith("["):
            sentence.refuse(token, f"here must be a range of {name}, such as [0-3] or [-]")
        if name in WATTS or name == "seconds":
            if not pieces_of(sentence, token, name):
                sentence.refuse(token, f"{' '.join(words).title()} needs " + (f"the {name} power in watts, such as [10]" if name in WATTS else "a range of seconds since the beginning, such as [0-1.5]"))
        ranges[name] = pieces_of(sentence, token, name)
    token = sentence.take()
    if token[0]:
        sentence.refuse(token, "the question has ended before this")
    return Question(tuple(words), ranges)
