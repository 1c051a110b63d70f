"""The charts of the report, by Plotly, each from a small table of the facts."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from damaris.facts import MOMENTS_OF_RUN, SAMPLE, Facts
from damaris.pictures import LAYERS
from damaris.verbs.text import size

BINS = MOMENTS_OF_RUN // 10  # of time in a chart
LANES = 128  # of processes in a chart; of more, several share one
BLUES = [[0, "#ffffff"], [0.001, "#d6e6f2"], [1, "#08306b"]]


@dataclass
class Chart:
    """`says`: in a sentence what a reader sees in it, also for those who do not see it."""

    title: str
    says: str
    figure: go.Figure

    def html(self, with_library: bool) -> str:
        self.figure.update_layout(template="plotly_white", margin={"t": 20, "b": 50, "l": 60, "r": 20}, font={"size": 13},
                                  legend={"orientation": "h", "yanchor": "bottom", "y": 1.02})  # fmt: skip
        return self.figure.to_html(full_html=False, include_plotlyjs=with_library, config={"displayModeBar": False, "responsive": True})


class Charts:
    def __init__(self, facts: Facts):
        self.facts, self.rows = facts, facts.rows
        self.begin, self.end, self.count = facts.begin, facts.end, facts.count
        self.bin = f"least(bin // {MOMENTS_OF_RUN // BINS}, {BINS - 1})"
        self.bin_ns = facts.bin_ns * (MOMENTS_OF_RUN // BINS)

    @property
    def lanes(self) -> int:
        return min(self.count, LANES)

    def lane(self, column="process") -> str:
        return f"({column} * {self.lanes} // {self.count})"

    def lane_names(self) -> list[str]:
        first = [-(-lane * self.count // self.lanes) for lane in range(self.lanes + 1)]
        return [str(a) if b - a == 1 else f"{a}-{b - 1}" for a, b in zip(first, first[1:], strict=False)]

    def all(self) -> list[Chart]:
        made = [self.time_by_layer(), self.written_over_time(), self.messages_over_time(), self.bandwidth(), self.write_phases(), self.access_sizes()]
        return [chart for chart in made if chart]

    def time_by_layer(self) -> Chart | None:
        rows = self.rows(f'select {self.lane()} as lane, layer, sum(own) / 1e9 from functions group by all order by all')
        if not rows:
            return None
        figure, names, total = go.Figure(), self.lane_names(), {}
        for layer, color in LAYERS.items():
            values = [0.0] * self.lanes
            for lane, of, seconds in rows:
                if of == layer:
                    values[lane] += seconds
            total[layer] = sum(values)
            if total[layer]:
                figure.add_bar(x=names, y=values, name=layer, marker_color=color)
        figure.update_layout(barmode="stack", xaxis={"title": "process", "type": "category"}, yaxis_title="seconds")
        most = max(total, key=total.get)
        return Chart("Time by layer", f"Time in calls of each layer without that of the layers below. Most is in {most}: {total[most]:.3g} s of all processes.", figure)

    def heat(self, bin, value, source) -> np.ndarray | None:
        """Process over time; a call counts in the bin in which it begins."""
        rows = self.rows(f"select {self.lane()}, {bin}, sum({value}) from {source} group by all")
        if not rows:
            return None
        values = np.zeros((self.lanes, BINS))
        lane, time, amount = np.array(rows, float).T
        values[lane.astype(int), time.astype(int)] = amount
        return values

    def heat_chart(self, title, values, unit, says) -> Chart:
        seconds = np.linspace(0, (self.end - self.begin) / 1e9, BINS)
        figure = go.Figure(go.Heatmap(z=values, x=seconds, y=self.lane_names(), colorscale=BLUES, colorbar={"title": unit}))
        figure.update_layout(xaxis_title="seconds", yaxis={"title": "process", "type": "category"}, height=max(220, min(18 * self.lanes + 120, 640)))
        return Chart(title, says, figure)

    def written_over_time(self) -> Chart | None:
        values = self.heat(self.bin, "bytes", "moments where kind = 'write'")
        if values is None:
            return None
        wrote = int((values.sum(axis=1) > 0).sum())
        return self.heat_chart("Bytes written over time", values, "bytes", f"Which process writes when; {wrote} of {self.lanes} {'processes' if self.lanes == self.count else 'rows'} do. In all {size(values.sum())}.")

    def messages_over_time(self) -> Chart | None:
        bin = f'least(("begin" - {self.begin}) // {self.bin_ns}, {BINS - 1})'
        values = self.heat(bin, '("end" - "begin") / 1e9', "calls where layer = 'mpi' and top and kind <> 'control'")
        if values is None:
            return None
        return self.heat_chart("Time in MPI over time", values, "seconds", f"Messages, collective operations and waits: {values.sum():.3g} s of all processes.")

    def bandwidth(self) -> Chart | None:
        rows = self.rows(f"select kind, {self.bin}, sum(bytes) from moments where kind in ('read', 'write') group by all order by all")
        if not rows:
            return None
        figure, seconds, most = go.Figure(), np.arange(BINS) * self.bin_ns / 1e9, {}
        for kind, color in (("write", "#D55E00"), ("read", "#0072B2")):
            values = np.zeros(BINS)
            for of, bin, count in rows:
                if of == kind:
                    values[bin] = count / (self.bin_ns / 1e9)
            most[kind] = values.max()
            if most[kind]:
                figure.add_scatter(x=seconds, y=values, name=kind, line={"color": color, "shape": "hv"})
        figure.update_layout(xaxis_title="seconds", yaxis_title="bytes/s")
        says = " and ".join(f"at most {size(most[kind])}/s {word}" if most[kind] else f"nothing {word}" for kind, word in (("write", "written"), ("read", "read")))
        return Chart("Bandwidth over time", f"All processes together; {says}.", figure)

    def write_phases(self) -> Chart | None:
        """As figure 1 of the paper on dedicated cores: how long each process is in each phase."""
        found = self.facts.phases()
        if len(found) < 2:
            return None
        values = np.zeros((self.lanes, len(found)))
        for lane, phase, seconds in self.rows(f"""select {self.lane()}, phase, sum(ns) / 1e9 from moments join phases using (bin)
                where kind in ('write', 'sync') group by all"""):
            values[lane, phase] += seconds
        slowest = [row[5] for row in found]
        figure = go.Figure(go.Heatmap(z=values, x=[f"{begin:.3g} s" for begin, *_ in found], y=self.lane_names(), colorscale=BLUES, colorbar={"title": "seconds"}))
        figure.update_layout(xaxis={"title": "write phase, by its begin", "type": "category"}, yaxis={"title": "process", "type": "category"},
                             height=max(220, min(18 * self.lanes + 120, 640)))  # fmt: skip
        return Chart("Write phases", f"How long each process writes in each of {len(found)} phases; the slowest takes {min(slowest):.3g} to {max(slowest):.3g} s.", figure)

    def access_sizes(self) -> Chart | None:
        rows = self.rows("select kind, class, sum(count) from accesses where kind in ('read', 'write') and class is not null group by all order by all")
        if not rows:
            return None
        low, high = min(row[1] for row in rows), max(row[1] for row in rows)
        figure = go.Figure()
        for kind, color in (("write", "#D55E00"), ("read", "#0072B2")):
            counts = {power: count for of, power, count in rows if of == kind}
            if counts:
                figure.add_bar(x=[size(2**power) for power in range(low, high + 1)], y=[counts.get(power, 0) for power in range(low, high + 1)], name=kind,
                               marker_color=color)  # fmt: skip
        figure.update_layout(xaxis={"title": "bytes, from", "type": "category"}, yaxis={"title": "calls", "type": "log", "dtick": 1})
        [(placed, aligned)] = self.rows("select sum(placed), 1 - sum(unaligned) / nullif(sum(placed), 0) from accesses where kind = 'write' and bytes > 0")
        some = max(int(placed or 0) // SAMPLE, 1)  # of so many processes, one tells
        [(follows,)] = self.rows(f"""select avg(("offset" = before)::int) from (
            select "offset", lag("offset" + bytes) over (partition by process, handle order by "begin") as before from storage
            where kind = 'write' and bytes > 0 and "offset" is not null and process % {some} = 0)""")
        says = "" if follows is None else f"{100 * follows:.0f} % of the writes follow the one before in their file, {100 * aligned:.0f} % begin at a page."
        return Chart("Access sizes", f"Calls by their bytes, to the next power of two. {says}", figure)
