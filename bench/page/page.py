"""One self-contained HTML page of sections, each with a text, a picture and a table.

Used by: the benchmarks that draw. Before it: JSON and figures. After it: a file that any browser shows, without a network.
"""

import base64
import html
import io

from matplotlib import rcParams
from matplotlib.figure import Figure

# Letters as paths: the page looks the same where the font is missing. One salt: the same JSON gives the same page.
rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "damaris", "font.size": 9, "axes.spines.top": False,
                 "axes.spines.right": False, "axes.titlesize": 10})

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 66rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.3rem; margin-top: 3rem } h3 { font-size: 1.05rem; margin-top: 2rem }
p { max-width: 46rem } .picture { overflow-x: auto } img { width: 100%; min-width: 44rem; height: auto }
table { border-collapse: collapse; font-size: .9rem; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
"""


def new_figure(width_in, height_in):
    return Figure(figsize=(width_in, height_in), layout="constrained")


class Page:
    def __init__(self, title, text=""):
        self.title = title
        self.parts = [f"<h1>{html.escape(title)}</h1>", paragraphs(text)]
        self.level = 2  # of the next section's heading
        self.style = STYLE

    def chapter(self, title, text=""):
        """The sections that follow belong to it."""
        self.parts.append(f"<h2>{html.escape(title)}</h2>{paragraphs(text)}")
        self.level = 3

    def add(self, title, text="", figure=None, table=None):
        """text: plain, an empty line between paragraphs. table: (heads, rows) of texts, the first column is a name."""
        self.parts.append(f"<h{self.level}>{html.escape(title)}</h{self.level}>{paragraphs(text)}")
        if figure is not None:
            picture = f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{as_svg(figure)}">'
            self.parts.append(f'<div class="picture">{picture}</div>')
        if table is not None:
            self.parts.append(as_table(*table))

    def add_html(self, text):
        """What is HTML already: of the section before."""
        self.parts.append(text)

    def write(self, path):
        path.write_text(f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
                        f'<meta name="viewport" content="width=device-width"><style>{self.style}</style></head>\n<body>\n'
                        + "\n".join(self.parts) + "\n</body></html>\n", encoding="utf-8")


def paragraphs(text):
    return "".join(f"<p>{html.escape(part.strip())}</p>" for part in text.split("\n\n") if part.strip())


def as_svg(figure):
    # As an image and not inline: identifiers of one picture do not meet those of another.
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return base64.b64encode(out.getvalue()).decode()


def as_table(heads, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table><thead>{line(heads, 'th')}</thead><tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"
