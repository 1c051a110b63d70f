"""What is said of a campaign as a whole: machine, day, commit and how quiet it was.

Used by: the page and the documents. Before it: results. After it: sentences.
"""

from shown import time_text

KNOWN = {"began", "seconds", "commit", "others_cores", "stolen_percent"}


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
             f"{cache / 2**20:.0f} MiB of last-level cache" if cache > 0 else "", machine.get("system", "").partition("-")[0]]
    return f"{', '.join(word for word in known if word)}; Damaris {machine.get('damaris', '?')}{compiler(machine)}."


def compiler(machine):
    """gcc tells its number alone; others tell their names, too."""
    text = machine.get("compiler", "")
    return f", compiled by {'gcc ' if text[:1].isdigit() else ''}{text}" if text else ""


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
