"""The picture of an answer: HTML by Plotly, PNG, SVG and PDF by Matplotlib, from one description."""

from dataclasses import dataclass, field
from pathlib import Path

from damaris.errors import Refused
from damaris.grammar import Question

LAYERS = {"damaris": "#009E73", "server": "#F0E442", "hdf5": "#0072B2", "mpiio": "#56B4E9", "mpi": "#CC79A7", "posix": "#D55E00", "stdio": "#E69F00", "recorder": "#7F7F7F"}
OTHERS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#333333")
SUFFIXES = (".html", ".png", ".svg", ".pdf")
MOST_BARS = 400  # more are not told apart
AT_SERVERS = "the same, at each server"
MOST_SERIES = 10  # of the others, the sum


@dataclass
class Bars:
    """One panel: bars at labels, stacked by series, each with a text. `inside`: each series lies within the one before, in front of it."""

    title: str
    x: str
    y: str
    labels: list[str]
    series: dict[str, list[float]]
    texts: dict[str, list[str]] = field(default_factory=dict)
    log: bool = False
    inside: bool = False
    legend: str = ""  # what the series are


def word_of(row, name) -> str:
    number = "" if row[name] is None else str(int(row[name]))
    return f"{number} {Path(row['target']).name}" if name == "server" and row.get("target") else number


def label_of(row, names) -> str:
    return "-".join(word_of(row, name) for name in names)


def series_of(rows, y, series) -> list[str]:
    """The series that each row belongs to: of many, all but the largest are one."""
    names = ["" if series is None else word_of(row, series) if series == "server" else str(row[series]) for row in rows]
    total: dict[str, float] = {}
    for name, row in zip(names, rows, strict=True):
        total[name] = total.get(name, 0) + float(row[y] or 0)
    largest = sorted(total, key=lambda name: -total[name])[:MOST_SERIES]
    return [name if name in largest else f"{len(total) - MOST_SERIES} others" for name in names]


def bars(title, rows, x, y, unit, series=None, text=None, log=False) -> Bars:
    """`rows` are dictionaries; `x`: the columns that make a bar's label, `series`: the one that stacks."""
    x = [name for name in x if rows and name in rows[0]]
    labels = list(dict.fromkeys(label_of(row, x) for row in rows))
    if len(labels) > MOST_BARS:
        raise Refused(f"the answer has {len(labels)} bars, a picture shows {MOST_BARS}; ask for fewer processes or calls, such as [0-3] [0-9]")
    place = {label: i for i, label in enumerate(labels)}
    values, texts = {}, {}
    for row, key in zip(rows, series_of(rows, y, series), strict=True):
        values.setdefault(key, [0.0] * len(labels))[place[label_of(row, x)]] += float(row[y] or 0)
        if text:
            texts.setdefault(key, [""] * len(labels))[place[label_of(row, x)]] = f"{row[text]}"
    order = [*LAYERS] if series == "layer" else []
    values = {key: values[key] for key in sorted(values, key=lambda key: order.index(key) if key in order else len(order))}
    return Bars(title, "-".join(x) or "all", unit, labels, values, texts, log, legend=series or "")


def panels_of(question: Question, rows) -> list[Bars]:
    """What the answer to `question` looks like (IOPro, figures 11 to 19)."""
    title = " ".join(word.capitalize() for word in question.words)
    kind = question.words[0] if question.words[0] != "latency" else question.words[1]
    views = {view: [row for row in rows if row.get("view") == view] for view in ("process", "server")}
    if kind == "breakdown":
        panel = bars(title, rows, ("process", "call"), "seconds", "seconds", series="layer")
        panel.inside = question.words[2] == "inclusive"  # the time of a layer has that of those below in it
        return [panel]
    calls = ("process", "call", "sub")
    if kind == "operation" and question.words[2] == "list":
        in_parallel = rows and "target" not in rows[0]  # of a fragment several servers have a part
        return [bars(title, rows, (*calls, "server") if in_parallel else calls, "seconds", "seconds; the number is the server", series="layer", text="server", log=True)]
    if kind == "operation" and question.words[2] == "avg":
        return [bars(title, rows, calls, "seconds", "seconds", log=True)]
    if kind == "operation":
        return [bars(title, views["process"], calls, "seconds", "seconds; the number is the server", series="layer", text="server", log=True),
                bars(AT_SERVERS, views["server"], ("server",), "seconds", "seconds; the number is the process", series="layer", text="process",
                     log=True)]  # fmt: skip
    if kind == "throughput":
        return [bars(title, views["process"], calls, "bytes_per_second", "bytes/s", series="server"),
                bars(AT_SERVERS, views["server"], ("server",), "bytes_per_second", "bytes/s", series="process")]  # fmt: skip
    if kind in ("energy", "call"):
        y, unit = ("joules", "joules") if kind == "energy" else ("operations", "operations")
        return [bars(title, rows, ("process", "call"), y, unit, series="server"), bars(AT_SERVERS, rows, ("server",), y, unit, series="process")]
    if kind == "segment":
        return [bars(title, [dict(row, order=i) for i, row in enumerate(rows)], ("order",), "seconds", "seconds, mean", series="function")]
    return [bars(title, rows, ("process", "call"), {"communication": "seconds"}.get(kind, kind), {"communication": "seconds"}.get(kind, kind))]


def color_of(name, number) -> str:
    return LAYERS.get(name, OTHERS[number % len(OTHERS)])


def draw_html(panels, path) -> None:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=len(panels), cols=1, subplot_titles=[panel.title for panel in panels])
    for row, panel in enumerate(panels, 1):
        for number, (name, values) in enumerate(panel.series.items()):
            figure.add_trace(go.Bar(x=panel.labels, y=values, name=name or panel.title, text=panel.texts.get(name), showlegend=bool(name),
                                    marker_color=color_of(name, number)), row=row, col=1)  # fmt: skip
        figure.update_xaxes(title_text=panel.x, type="category", row=row, col=1)
        figure.update_yaxes(title_text=panel.y, type="log" if panel.log else "linear", row=row, col=1)
    figure.update_layout(barmode="overlay" if panels[0].inside else "stack", legend_title_text=panels[0].legend if len(panels) == 1 else "", template="plotly_white", height=420 * len(panels))
    figure.write_html(path, include_plotlyjs=True)


def draw_static(panels, path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    most = max(len(panel.labels) for panel in panels)
    figure, axes = plt.subplots(len(panels), squeeze=False, figsize=(min(max(7, most * 0.18), 24), 3.6 * len(panels)), layout="constrained")
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        base = [0.0] * len(panel.labels)
        for number, (name, values) in enumerate(panel.series.items()):
            drawn = axis.bar(range(len(values)), values, bottom=None if panel.log or panel.inside else base, color=color_of(name, number), label=name or None)
            if name in panel.texts and len(values) <= 60:
                axis.bar_label(drawn, panel.texts[name], fontsize=7)
            base = [low + value for low, value in zip(base, values, strict=True)]
        step = max(1, len(panel.labels) // 40)
        axis.set_xticks(range(0, len(panel.labels), step), panel.labels[::step], rotation=90 if len(panel.labels) > 12 else 0, fontsize=8)
        axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y, yscale="log" if panel.log else "linear")
        axis.spines[["top", "right"]].set_visible(False)
        if any(panel.series):
            axis.legend(title=panel.legend, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw(question: Question, rows: list[dict], path: Path) -> None:
    """Writes the picture of an answer. Raises Refused for an empty answer, or more bars than a picture shows."""
    if not rows:
        raise Refused("the answer is empty, so there is no picture")
    panels = [panel for panel in panels_of(question, rows) if panel.labels]
    (draw_html if path.suffix == ".html" else draw_static)(panels, path)
