"""Processor use over time, as in the paper's figures 10 and 12: computing, writing, waiting, dedicated core; what is left is white.

Used by: pictures.py. Before it: samples and phases of the ranks of one run of each way. After it: one figure.
"""

import numpy as np

from page import new_figure

BIN_S = 0.1
KINDS = {"compute": "#0072b2", "write": "#d55e00", "wait": "#999999", "dedicated core": "#009e73"}


def draw_cpu_use(details, cores):
    """All ways over the same time: as long as the shortest run has phases."""
    span = min(phase_span(detail["cpu"]["ranks"])[1] - phase_span(detail["cpu"]["ranks"])[0] for detail in details)
    figure = new_figure(11, 0.7 + 1.0 * len(details))
    axes = figure.subplots(len(details), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axis, detail in zip(axes, details):
        draw_way(axis, detail["cpu"]["ranks"], span)
        axis.set(ylim=(0, cores), xlim=(0, span), yticks=range(cores + 1), ylabel="cores")
        axis.set_title(detail["way"], loc="left", pad=2)
    axes[-1].set_xlabel("s since the first phase began")
    handles = [axes[0].fill_between([], [], color=colour, label=kind) for kind, colour in KINDS.items()]
    figure.legend(handles=handles, loc="outside upper right", ncols=len(KINDS), frameon=False)
    return figure


def phase_span(ranks):
    phases = [phase for rank in ranks for phase in rank["phases"]]
    return min(phase["compute"][0] for phase in phases), max(phase["write"][1] for phase in phases)


def draw_way(axis, ranks, span):
    begin = phase_span(ranks)[0]
    edges = begin + np.arange(0, span + BIN_S, BIN_S)
    use = {kind: np.zeros(len(edges) - 1) for kind in KINDS}
    for rank in ranks:
        for kind, cores in rank_use(rank, edges).items():
            use[kind] += cores
    corners = np.repeat(edges - begin, 2)[1:-1]
    axis.stackplot(corners, *(np.repeat(cores, 2) for cores in use.values()), colors=list(KINDS.values()), linewidth=0)
    for end in phase_ends(ranks):
        axis.axvline(end - begin, color="black", linewidth=0.5, linestyle=":")


def phase_ends(ranks):
    return [max(phase["write"][1] for phase in phases) for phases in zip(*[rank["phases"] for rank in ranks if rank["phases"]])]


def rank_use(rank, edges):
    """Cores in use between edges, by what the rank was at."""
    if len(rank["at"]) < 2:
        return {}
    cores = np.diff(np.interp(edges, rank["at"], rank["cpu_s"])) / BIN_S
    if rank["dedicated"]:
        return {"dedicated core": cores}
    shares = {kind: overlap(edges, [phase[kind] for phase in rank["phases"]]) for kind in ("compute", "write")}
    shares["wait"] = np.clip(1 - shares["compute"] - shares["write"], 0, 1)
    return {kind: cores * share for kind, share in shares.items()}


def overlap(edges, spans):
    """The share of each bin that lies in the spans."""
    inside = np.zeros(len(edges) - 1)
    for begin, end in spans:
        inside += np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
    return inside / BIN_S
