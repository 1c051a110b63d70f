"""The page of bench all: the verdict on each budget first, then a chapter for each part, then what to keep in mind.

Used by: bench_all.py. Before it: results and verdicts. After it: an HTML page.
"""

import html
import re

from caveats import caveats_of
from chapters import add_chapters
from facts import machine_text, when_text
from page import Page
from running import LEFT_OUT
from verdicts import ABSENT, UNSURE, counted

HEADS = ("", "figure", "interval", "by CPU time", "good", "aim", "")
COLOURS = {"aim reached": "#d6f0e0", "aim reached" + UNSURE: "#e4f1e4", "good": "#e9f4d8", "good" + UNSURE: "#f4f3d4",
           "missed": "#fbe3d6", ABSENT: "#eeeeee", LEFT_OUT: "#eeeeee"}


def css_class(state):
    return re.sub(r"\W+", "-", state)


STYLE = "".join(f".{css_class(state)} {{ background: {colour} }}" for state, colour in COLOURS.items()) + """
table.verdicts { display: table; width: 100% } .verdicts td { white-space: normal } .verdicts td:nth-child(n+2) { white-space: nowrap }
.verdicts .budget td { font-weight: 600; padding-top: 1.2rem }
.verdicts td.why { white-space: normal; text-align: left; color: #555; font-size: .85rem; padding-bottom: .6rem; border: 0 }
.verdicts td:last-child { white-space: normal } .verdicts .part { color: #777 }
@media (max-width: 44rem) {
  .verdicts, .verdicts td.why { font-size: .75rem } .verdicts th, .verdicts td { padding: .2rem .25rem }
  .verdicts tbody td { white-space: normal !important }
}"""


def draw_whole_page(path, results, groups, folder, quick):
    page = Page("What Damaris costs, and what it gains", f"{machine_text(results)}\n\n{when_text(results, quick)}")
    page.style += STYLE
    page.add("The budgets", f"{counted(groups).capitalize()}. Where the aim is not reached the line below says why, and what the limit is. "
             "A row is a ratio inside one run unless its name has a unit.")
    page.add_html(verdict_table(groups))
    add_chapters(page, results, folder)
    page.chapter("What to keep in mind", "\n\n".join(caveats_of(results)))
    page.write(path)


def verdict_table(groups):
    rows = "".join(row for title, lines in groups for row in group_rows(title, lines))
    return (f'<table class="verdicts"><thead><tr>{"".join(f"<th>{head}</th>" for head in HEADS)}</tr></thead>'
            f"<tbody>{rows}</tbody></table>")


def group_rows(title, lines):
    yield f'<tr class="budget"><td colspan="{len(HEADS)}">{html.escape(title)}</td></tr>'
    for number, line in enumerate(lines):
        cells = [f'<span class="part">{line.part}</span> {html.escape(line.name)}', line.figure, line.interval, line.cpu, line.good, line.aim]
        yield (f'<tr>{"".join(f"<td>{cell}</td>" for cell in cells)}<td class="{css_class(line.state)}">{line.state}</td></tr>')
        following = lines[number + 1].why if number + 1 < len(lines) else ""
        if line.why and line.why != following:  # neighbours share a sentence
            yield f'<tr><td class="why" colspan="{len(HEADS)}">{html.escape(line.why)}</td></tr>'
