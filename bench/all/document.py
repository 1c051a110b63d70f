"""The figures in Markdown documents: what stands between two marks is written anew, and nothing else.

Used by: bench_all.py. Before it: results, documents. After it: the same documents with today's figures.
"""

import re
import textwrap

from caveats import caveats_of
from facts import machine_text, when_text
from running import LEFT_OUT
from verdicts import ABSENT
from when_it_pays import pays_text

FROM, TO = "<!-- {}: made by ./dev bench all, from here -->", "<!-- to here -->"
WIDTH = 140
HEADS = "| | figure | interval | by CPU time | good | aim | |\n|---|--:|--:|--:|--:|--:|---|\n"


class NoMarks(Exception):
    """A document without a place for figures; the text names it and the remedy."""


def rewrite(path, texts):
    """texts: {section: Markdown}. Raises NoMarks when the document has a place for none of them."""
    old = path.read_text(encoding="utf-8")
    new = replaced(path, old, texts)
    if new != old:
        path.write_text(new, encoding="utf-8")


def replaced(path, text, texts):
    check(path, text, texts)
    for name, section in texts.items():
        begin = FROM.format(name)
        if begin in text:
            before, _, rest = text.partition(begin)
            text = f"{before}{begin}\n\n{section.strip()}\n\n{TO}{rest.partition(TO)[2]}"
    return text


def check(path, text, names):
    """Now, not after all runs."""
    found = [name for name in names if FROM.format(name) in text]
    if not found:
        places = " or ".join(FROM.format(name) for name in names)
        raise NoMarks(f"{path} has no place for figures: put {places} and below it {TO} where they are to stand")
    for name in found:
        if TO not in text.partition(FROM.format(name))[2]:
            raise NoMarks(f"{path}: below {FROM.format(name)} there is no {TO}")


NAMES = ("figures", "when it pays")


def texts_of(results, groups, quick):
    return dict(zip(NAMES, (figures_text(results, groups, quick), pays_text(results))))


def figures_text(results, groups, quick):
    sentences = []
    tables = HEADS + "\n".join(line for title, lines in groups for line in group_lines(title, lines, sentences))
    reasons = "\n".join(numbered(number, sentence) for number, sentence in enumerate(sentences, 1))
    known = "\n".join(filled(f"- {caveat}", "  ") for caveat in caveats_of(results))
    return "\n\n".join([filled(machine_text(results)), filled(when_text(results, quick)), tables,
                        "Why an aim is not reached, and what the limit is:\n\n" + reasons if reasons else "Every aim is reached.",
                        "What to keep in mind:\n\n" + known])


def group_lines(title, lines, sentences):
    yield f"| **{cell(title)}** | | | | | | |"
    for line in lines:
        yield (f"| `{line.part}`: {cell(line.name)} | {line.figure} | {line.interval} | {line.cpu} | {line.good} | {line.aim} | "
               f"{line.state}{reference(line, sentences)} |")


def reference(line, sentences):
    """' [3]': the number of the sentence below the table, which several rows may share."""
    sentence = line.why
    if not sentence:
        return ""
    if line.state in (ABSENT, LEFT_OUT):
        return f": {cell(sentence)}"
    if sentence not in sentences:
        sentences.append(sentence)
    return f" [{sentences.index(sentence) + 1}]"


def numbered(number, sentence):
    start = f"{number}. "
    return filled(start + sentence, " " * len(start))


def filled(text, indent=""):
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
