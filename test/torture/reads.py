"""Reads (dc_read): of an earlier run's values while the fault happens to this one, and of this run's by the one that goes on from it.

Before it: scenario.py, which draws them into the scripts; client.c looks at the values. After it: check.py, with what the calls returned.
"""

NOT_STORED, TIMEOUT, FULL, TOO_LARGE = -403, -305, -302, -300
PLENTY_MS = 5000  # as long a time-out of the buffer as this is not reached by a server that is well
WRITTEN_BEFORE = 1  # added to the seed of the earlier run's values, so that they are not this one's


def lines_of_read(rng, run, source, variable, steps, seed, base_of):
    """One block of `variable` of one of the steps: its own, or, with a position, anybody's."""
    step, block = rng.choice(steps), rng.randrange(variable.blocks)
    owner = rng.randrange(run.clients) if variable.kind == "joined" else source
    length = variable.length(step, owner, block)
    lines = []
    if variable.kind == "varying":
        lines.append(f"shape {variable.name} {length}")
    if variable.kind == "joined":
        lines.append(f"place {variable.name} {(owner * variable.blocks + block) * length}")
    base = base_of(seed, variable.name, step, owner, block)
    percent = round(100 * variable.tolerance(True))
    return [*lines, f"read {variable.name} {step} {block} {variable.type} {length} {base} {percent} {owner}"]


def weave(rng, run, source, lines, steps, seed, base_of, share):
    """Reads at any place between `init` and `finalize`, but not between a shape or place and the call that it is for."""
    for at in range(len(lines) - 1, 0, -1):
        if lines[at - 1].split()[0] not in ("shape", "place") and lines[at].split()[0] not in ("meet", "init") and rng.random() < share:
            variable = rng.choice(run.variables)
            if variable.kind != "resized":  # which has the size of the open step
                lines[at:at] = lines_of_read(rng, run, source, variable, steps, seed, base_of)
    return lines


def key_of(call):
    """(variable, step, source, block)."""
    return call.words[1], int(call.words[2]), int(call.words[8]), int(call.words[3])


def wrong_read(run, kind, call, stored):
    """A sentence when a read has returned what it may not. `stored`: keys of what there is to read. `kind`: what is done to the run, or None."""
    if call.wrong:
        return call.wrong
    if call.code == 0:
        return "" if key_of(call) in stored else "was read, but is not stored"
    if call.code == NOT_STORED:
        away = kind is not None and kind.storage and "no run is recorded" in call.sentence  # with its folder
        return "is stored" if key_of(call) in stored and not away else ""
    held_up = (kind and (kind.holds or kind.server_dies)) or "in plugin" in call.sentence  # which may sync for long
    if call.code == TIMEOUT and run.buffer_timeout_ms >= PLENTY_MS and not held_up:
        return "nothing kept the server from answering in time"
    return "" if call.code in (TIMEOUT, FULL, TOO_LARGE) or (kind and call.code in kind.codes) else "nothing that was done to the run explains that"
