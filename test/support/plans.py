"""Reads plans and runs them in virtual time, slowly, by the rules of docs/plan-format.md alone."""


class Stuck(Exception):
    pass


def parsed(text):
    """Its operations, a list of words for each process, and the members of collectives."""
    processes, members = [], {}
    for line in text.splitlines():
        words, _, ns = line.partition("#")
        match words.split():
            case ["process", *_]:
                processes.append([])
            case ["collective", number, *ranks]:
                members[number] = [int(one) for one in ranks]
            case [kind, *rest] if len(kind) == 1:
                processes[-1].append((kind, rest, int(ns or 0)))
    return processes, members


def run(text, delay=lambda process, index: 0):
    """When each process ends, and the begin of each operation; `delay`: ns more of the I/O at an index of a process."""
    processes, members = parsed(text)
    clock, at = [0] * len(processes), [0] * len(processes)
    begins = [[] for _ in processes]
    sent, came, roots = {}, {number: {} for number in members}, {}

    def needs(process, kind, number):
        """Whom an operation waits for, as (their clock or None)."""
        if kind == "g":
            return [sent.get(number)]
        everyone = members[number]
        if kind == "f":
            return [] if roots.get(number) == process else [came[number].get(roots.get(number))]
        if kind == "e" and roots.get(number) != process:
            return []
        if kind == "q":
            everyone = everyone[: everyone.index(process)]
        return [came[number].get(one) for one in everyone]

    moved = True
    while moved:
        moved = False
        for process, ops in enumerate(processes):
            while at[process] < len(ops):
                kind, words, ns = ops[at[process]]
                if kind == "c":
                    end = clock[process] + int(words[0])
                elif kind == "p":
                    end = clock[process] + int(words[1])
                    sent[words[0]] = end
                elif kind in "gabefq":
                    if kind != "g":
                        came[words[0]].setdefault(process, clock[process])
                        if words[2:] == ["root"]:
                            roots[words[0]] = process
                    times = needs(process, kind, words[0])
                    if None in times:
                        break
                    end = max([clock[process], *times]) + int(words[1])
                else:
                    end = clock[process] + ns + delay(process, at[process])
                begins[process].append(clock[process])
                clock[process] = end
                at[process] += 1
                moved = True
    if any(now < len(ops) for now, ops in zip(at, processes)):
        raise Stuck([ops[now] for now, ops in zip(at, processes) if now < len(ops)])
    return clock, begins
