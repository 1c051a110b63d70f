"""The page of bench all: for each part its rows, the rows against what is good, and a picture of its details; and its rows as Markdown.

Used by: bench_all.py. Before it: results.json. After it: one HTML file by plotly, which needs nothing from outside; figures.md.
"""

import html

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from rows import mark

STATES = {"*": "aim reached", "+": "good", "": "missed"}
COLOURS = {"aim reached": "#009e73", "good": "#0072b2", "missed": "#d55e00"}
STYLE = """body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 66rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0 }
td, th { padding: .15rem .6rem; border-bottom: 1px solid #ddd; text-align: right }
td:first-child, th:first-child { text-align: left } h2 { margin-top: 3rem }"""
TITLES = {"write": "a dc_write against the memcpy it cannot do without", "queue": "an event against a message of boost message_queue",
          "persist": "what storing costs beyond writing the bytes", "reduce": "compression on a dedicated core against HDF5's filters",
          "slots": "four servers on a storage with one bottleneck",
          "never-stops": "what a client notices of a storage that hangs or is slow, and of a plugin that sleeps",
          "log": "what an append to a log costs, and when the buffer is full",
          "phases": "how long a simulation waits, a core for each rank",
          "phases-shared": "the same with more ranks, which share cores where there are fewer", "cm1": "does a dedicated core pay?",
          "cm1-parts": "the same with four cores, or parts of these",
          "compression": "does the simulation notice that its dedicated core compresses?",
          "record": "what a recording costs",
          "replay": "what a replay says before a program runs, and what it then takes",
          "view": "how soon the timeline of a large recording is seen"}


def draw_page(results):
    parts, pictures = [], 0
    for name, entry in results["parts"].items():
        parts.append(f"<h2>{name}: {html.escape(TITLES[name])}</h2>\n<p>{html.escape(about(entry))}</p>")
        for what in sections(name, entry.get("report")):
            if isinstance(what, go.Figure):
                what.update_layout(template="plotly_white", margin=dict(t=30))
                what = what.to_html(full_html=False, include_plotlyjs=pictures == 0, config=dict(displaylogo=False))
                pictures += 1
            parts.append(what)
    quick = " A quick campaign: it shows that everything runs, and its figures mean little." if results["quick"] else ""
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Damaris: bench all</title><style>{STYLE}</style></head>\n'
            f"<body>\n<h1>What Damaris costs, and what it gains</h1>\n<p>{html.escape(counted(results) + '.' + quick)}</p>\n"
            + "\n".join(parts) + "\n</body></html>\n")


def rows_of(results):
    """A row in words: part, name, figure, interval, good, aim, state."""
    for name, entry in results["parts"].items():
        for one in entry.get("report", dict(rows=[]))["rows"]:
            low, high = one["interval"]
            figures = (f"{one['ratio']:.3g}", f"{low:.3g} to {high:.3g}", f"{one['good']:.3g}", f"{one['aim']:.3g}")
            yield name, one["name"], *figures, STATES[mark(one)]


def counted(results):
    states = [line[-1] for line in rows_of(results)]
    none = [f"{name}: {entry.get('failed') or entry['left_out']}" for name, entry in results["parts"].items() if "report" not in entry]
    return "; ".join([*(f"{states.count(state)} {state}" for state in STATES.values()), *none])


def about(entry):
    when = f"{entry['began']}, commit {entry['commit']}, {entry['seconds']} s"
    if "report" not in entry:
        return f"Not measured: {entry.get('failed') or entry['left_out']} ({when})."
    machine = entry["report"]["machine"]
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}; Damaris "
            f"{machine['damaris']}; load at the start {machine['load_1min_at_start']:.1f}; {when}.")


def sections(name, report):
    if not report:
        return
    lines = [line[1:] for line in rows_of(dict(parts={name: dict(report=report)}))]
    yield pd.DataFrame(lines, columns=["", "figure", "interval", "good", "aim", "state"]).to_html(index=False, border=0)
    if report["rows"]:
        yield against_good(report["rows"])
    if "table" in report:
        yield f"<p>{html.escape(report['table']['text'])}</p>"
        yield pd.DataFrame(report["table"]["lines"], columns=report["table"]["heads"]).to_html(index=False, border=0)
    yield PICTURES[name if name in PICTURES else name.partition("-")[0]](report["details"])


def against_good(rows):
    """How many times better than good, whichever direction that is."""
    def better(one, value):
        times = value / one["good"] if one["better"] == "higher" else one["good"] / max(value, 1e-9)
        return max(times, 1e-3)
    figure = go.Figure(layout=dict(height=150 + 28 * len(rows), xaxis=dict(type="log", title="times better than good; diamond: the aim"),
                                   yaxis=dict(autorange="reversed", automargin=True), showlegend=False))
    for one in rows:
        here, ends = better(one, one["ratio"]), sorted(better(one, value) for value in one["interval"])
        figure.add_scatter(x=[here], y=[one["name"]], marker=dict(color=COLOURS[STATES[mark(one)]], size=9),
                           error_x=dict(array=[ends[1] - here], arrayminus=[here - ends[0]]))
        figure.add_scatter(x=[better(one, one["aim"])], y=[one["name"]], marker=dict(symbol="diamond-open", color="#888"), mode="markers")
    return figure.add_vline(1, line_width=1)


def picture_of_write(details):
    idle = [one for one in details if one["server"] == "idle" and "clients" not in one and "against" not in one]
    return px.line(pd.json_normalize(idle), x="bytes", y="wall_ns.median", color="method", markers=True, log_x=True, log_y=True,
                   labels={"wall_ns.median": "ns, median, idle server"})


def picture_of_phases(details):
    frame = pd.DataFrame([dict(way=one["way"], storage=one["storage"], seconds=seconds)
                          for one in details for run in one["runs"] for times in run["ranks_s"] for seconds in times])
    return px.box(frame, x="way", y="seconds", color="storage", log_y=True, points="all",
                  labels=dict(seconds="s, each output of each rank"))


def picture_of_cm1(details):
    frame = pd.DataFrame([dict(work=str(one["work"]), way=way, seconds=float(np.median([run["solution_s"] for run in runs])))
                          for one in details for way, runs in one["runs"].items()])
    return px.bar(frame, x="work", y="seconds", color="way", barmode="group", text_auto=".3g", labels=dict(seconds="s to solution"))


def picture_of_compression(details):
    frame = pd.DataFrame([dict(compression=one["way"], what=what, seconds=seconds)
                          for one in details for run in one["runs"] for what in ("steps_s", "writes_s") for seconds in run[what]])
    return px.box(frame, x="compression", y="seconds", facet_col="what", log_y=True)


def picture_of_record(details):
    frame = pd.DataFrame([dict(call=call, recorder=recorder, ns=ns) for call, runs in details.items() if call != "lammps"
                          for recorder, of in runs.items() for ns in of])
    return px.box(frame, x="call", y="ns", color="recorder", log_y=True, labels=dict(ns="ns of CPU, a call"))


def picture_of_replay(details):
    frame = pd.DataFrame([dict(what=one["name"], when=when, seconds=seconds) for one in details["predictions"] if "real_s" in one
                          for when, times in (("predicted", [one["predicted_s"]]), ("real", one["real_s"])) for seconds in times])
    return px.strip(frame, x="seconds", y="what", color="when", labels=dict(what=""))


def picture_of_slots(details):
    frame = pd.DataFrame([dict(schedule=one["schedule"], seconds=seconds) for one in details for seconds in one["worst_write_s"]])
    return px.box(frame, x="schedule", y="seconds", points="all", labels=dict(seconds="s, longest write of a round"))


def picture_of_never_stops(details):
    frame = pd.DataFrame([dict(trouble=one["trouble"], state=one["state"], ms=ns / 1e6)
                          for one in details if "trouble" in one for ns in one["write_ns"]])
    return px.box(frame, x="trouble", y="ms", color="state", points="outliers", log_y=True, labels=dict(ms="ms, a write phase"))


def picture_of_log(details):
    frame = pd.DataFrame([one for one in details if one.get("figure") == 11])
    return px.line(frame, x="mib_per_client", y="mb_per_s", color="clients", markers=True, log_x=True, log_y=True,
                   labels=dict(mib_per_client="MiB that each client appends; it has a buffer of 4 MiB", mb_per_s="MB/s, perceived"))


def picture_of_view(details):
    ways = (("in the server", "served"), ("painted", "painted"), ("with lines", "lines"))
    shown = [(what, 1e3 * seconds) for what, key in ways for seconds in details.get(key, ())]
    return px.box(pd.DataFrame(shown, columns=["zoom", "ms"]), x="ms", y="zoom", points="all", log_x=True)


PICTURES = {
    "log": picture_of_log, "view": picture_of_view,
    "write": picture_of_write, "phases": picture_of_phases, "cm1": picture_of_cm1, "compression": picture_of_compression,
    "record": picture_of_record, "replay": picture_of_replay, "slots": picture_of_slots, "never-stops": picture_of_never_stops,
    "queue": lambda details: px.bar(pd.json_normalize(details), x="producers", y="wall_ns.median", color="queue", barmode="group",
                                    log_y=True,
                                    labels={"wall_ns.median": "ns a message"}),
    "persist": lambda details: px.bar(details, x="mb_per_s", y="way", color="case", barmode="group", labels=dict(mb_per_s="MB/s")),
    "reduce": lambda details: px.scatter([one for one in details if "ratio" in one], x="ratio", y="mb_per_cpu_s", color="way",
                                         hover_name="case",
                                         log_x=True, log_y=True, labels=dict(ratio="size before / after", mb_per_cpu_s="MB/s of CPU")),
}


def markdown(results):
    """What docs/performance.md holds: the rows, and the table of each part that has one."""
    lines = ["| | figure | interval | good | aim | |", "|---|--:|--:|--:|--:|---|"]
    lines += [f"| `{part}`: {' | '.join(words)} |" for part, *words in rows_of(results)]
    for name, entry in results["parts"].items():
        table = entry.get("report", {}).get("table")
        if table:
            lines += ["", f"`{name}`: {' '.join(table['text'].split())}", "", f"| {' | '.join(table['heads'])} |",
                      "|---" + "|--:" * (len(table["heads"]) - 1) + "|", *(f"| {' | '.join(line)} |" for line in table["lines"])]
    return "\n".join(lines) + "\n"
