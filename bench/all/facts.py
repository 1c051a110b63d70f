"""What is said of a campaign as a whole: machine, day, commit, how quiet it was, and what to keep in mind.

Used by: the page and the documents. Before it: results. After it: sentences.
"""

from shown import time_text

KNOWN = {"began", "seconds", "commit", "others_cores", "stolen_percent"}
CIRCLE_BYTES = 256 << 20  # of bench/write/configuration.cpp


def machine_of(results):
    """The facts that any part tells; {} without any."""
    facts = {}
    for result in reversed(list(results.values())):
        facts.update(result.report["machine"] if result.report else {})
    return facts


def machine_text(results):
    machine = machine_of(results)
    if not machine:
        return "Nothing was measured."
    cache = machine.get("last_level_cache_bytes", 0)
    known = [machine.get("processor", "a processor"), f"{machine.get('cores', '?')} cores",
             f"{machine.get('memory_bytes', 0) / 2**30:.0f} GiB of memory",
             f"{cache / 2**20:.0f} MiB of last-level cache" if cache > 0 else "", machine.get("system", "")]
    return f"{', '.join(word for word in known if word)}; Damaris {machine.get('damaris', '?')}{compiler(machine)}."


def compiler(machine):
    return f", compiled by gcc {machine['compiler']}" if "compiler" in machine else ""


def when_text(results, quick):
    """Days, commits and how quiet it was; parts may be of several."""
    return when(results) + (" A quick campaign: it shows that everything runs, and its figures mean little." if quick else "")


def when(results):
    lines = [result.record for result in results.values() if result.report and result.record.keys() >= KNOWN]
    if not lines:
        return "When and from which commit is not known."
    began = sorted(line["began"] for line in lines)
    took = time_text(sum(line["seconds"] for line in lines))
    commits = sorted({line["commit"] for line in lines})
    when = began[0] if began[0][:10] == began[-1][:10] else f"{began[0]} to {began[-1]}"
    others, stolen = share(lines, "others_cores"), share(lines, "stolen_percent")
    return (f"{when}, {took} in all, commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}. Meanwhile other processes used "
            f"{others:.2f} cores (the kernel's own threads among them), and the host took {stolen:.1f} % of the time.")


def share(lines, key):
    """On average over the time of all parts."""
    return sum(line[key] * line["seconds"] for line in lines) / max(1e-9, sum(line["seconds"] for line in lines))


def caveats_of(results):
    """Sentences, those of this campaign first."""
    machine, cores = machine_of(results), machine_of(results).get("cores", 0)
    loud = [name for name, result in results.items() if result.report and result.record.get("others_cores", 0) > 0.1 * max(1, cores)]
    if loud:
        yield f"Others used this machine during {', '.join(loud)}: there times and p99 hold their turns, ratios and the best say more."
    if cores and cores <= 2:
        yield (f"{cores} cores: no row of several clients that write at a time, as each needs a core of its own beside the server's; "
               "a dedicated core is half of the machine.")
    cache = machine.get("last_level_cache_bytes", 0)
    if cache >= CIRCLE_BYTES:
        yield (f"The last-level cache, {cache / 2**20:.0f} MiB as the system tells it, holds what write goes through in a circle "
               f"({CIRCLE_BYTES / 2**20:.0f} MiB): source and target that should be cold may be in it.")
    if over(results):
        yield (f"phases-shared runs {over(results)} ranks on {cores} cores: a rank may lose its core inside its copy, so its slowest ranks "
               "tell of the scheduler. In phases each rank has a core of its own.")
    if results["reduce"].report and results["reduce"].record.get("fields") is False:
        yield "reduce had the small slice of CM1's fields that comes with the program: its chunks of 5.8 KB are too small for figures."
    yield ("The storage is a local file system, unless a row names another: what is written ends in the page cache at the speed of a copy, and nobody's bytes are on "
           "a disk when a write phase ends. Only what is called durable waits for the disk. So cm1 slows all ways down to one rate.")
    yield ("On a virtual machine cores are taken away for moments that nothing inside can see: a p99 of a few hundred writes holds them. "
           "Two cores may be two threads of one.")
    yield "Figures are medians; the interval holds the median with 95 % (1000 resamplings of samples, or of whole runs)."


def over(results):
    """Ranks of phases-shared, if they are more than the cores."""
    report = results["phases-shared"].report
    ranks = report.get("settings", {}).get("ranks", 0) if report else 0
    return ranks if ranks > machine_of(results).get("cores", 0) else 0
