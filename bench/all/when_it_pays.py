"""What docs/when-does-it-pay.md says was measured: tables of the mini-app's points, and how far the forecast was off.

Used by: document.py. Before it: results of cm1. After it: Markdown.
"""

import textwrap

from cores_table import cores_text
from parts import told

HEADS = ("| work | r, file per process | r, collective | file per process | collective | damaris | forecast | gain "
         "| a core less, without output |\n"
         "|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")


def pays_text(results):
    return "\n\n".join(part_text(results[name]) for name in ("cm1", "cm1-parts"))


def part_text(result):
    if not result.report:
        return f"`{told(result.part)}`: {result.absent}: {result.why}."
    report = result.report
    machine, settings, points = report["machine"], report["settings"], report["points"]
    rate = settings["storage_bytes_per_s"]
    chosen = f" ({chosen_text(result)})" if chosen_text(result) else ""
    storage = f"storage of {rate / 1e6:.3g} MB/s for all{chosen}" if rate else "storage as it is"
    runs = "a run" if settings["repeats"] == 1 else f"medians of {settings['repeats']} runs"
    intro = (f"{machine['processor']}, {cores_text(settings)}, `{told(result.part)}`: {settings['outputs'] + 1} outputs, {storage}; "
             f"seconds to solution, {runs}:")
    return "\n\n".join([filled(intro), HEADS + "\n".join(map(point_line, points)), filled(" ".join(map(sentence, points)))])


def chosen_text(result):
    """Why the storage is as slow as it is; '' where its rate was given, or it is as it is."""
    settings = result.report.get("settings", {}) if result.report else {}
    if not settings.get("storage_bytes_per_s") or "--storage" in result.part.arguments:
        return ""
    return "chosen so that with the smallest multiplier of the work the output takes twice the compute time"


def filled(text):
    return textwrap.fill(text, 140, break_on_hyphens=False)


def gain(point):
    """Best other way by damaris."""
    times = point["solution_s"]
    return min(times["fpp"], times["collective"]) / times["damaris"]


def point_line(point):
    times, share, alone = point["solution_s"], point["share"], point["alone_s"]
    return (f"| {point['work']} | {share['fpp']:.2f} | {share['collective']:.2f} | {times['fpp']:.2f} | {times['collective']:.2f} | "
            f"{times['damaris']:.2f} | {point['predicted_s']:.2f} | {gain(point):.2f} | {alone['0']:.2f} -> {alone['1']:.2f} |")


def sentence(point):
    times = point["solution_s"]
    share = point["share"]["fpp" if times["fpp"] <= times["collective"] else "collective"]
    off = 100 * (point["predicted_s"] / times["damaris"] - 1)
    verdict = "is faster" if gain(point) > 1 else "is slower"
    return (f"Work {point['work']}: the break-even is at r = {point['break_even']:.2f}, the output takes {share:.2f}, and the dedicated "
            f"core {verdict} ({gain(point):.2f}); the forecast is {abs(off):.0f} % {'above' if off >= 0 else 'below'} what was measured.")
