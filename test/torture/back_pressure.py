"""Back-pressure in a run (docs/back-pressure.md): what its XML allows, and whether each refused write is reported.

Before it: scenario.py, which draws it into the XML. After it: check.py, with what the calls returned and what the manifest says.
"""

from cluster import SHARED

FULL, TOO_LARGE, STEP_TOO_LARGE = -302, -300, -301
SKIPPED, DROPPED = 3, 4
DATA = ("write", "alloc")


def draw_back_pressure(rng, run):
    """The rungs of the run's buffer, and of each variable what differs; mostly none. Blocks are large then, so that it does fill."""
    if rng.random() < 0.6:
        return
    servers = ("reduce", "spill") if run.mode != "in-place" else ()  # these need a dedicated core
    servers = ("spill",) if run.files in SHARED else servers  # whose servers reduce alike
    end = rng.choice(("", "block", "skip", "skip", "drop"))
    run.rungs = [rung for rung in servers if rng.random() < 0.5] + [end] * bool(end)
    run.spill_size = rng.choice(("64KiB", "16GiB"))
    run.buffer_timeout_ms = rng.choice((0, 0, 20, 300))
    for variable in run.variables:
        variable.elements = int(2 ** rng.uniform(9, 13))
        variable.own_on_full = rng.choice(("", "", "block", "skip", "drop"))
        variable.on_full = variable.own_on_full or end or "block"
        variable.priority = rng.choice((0, 0, 1, 2))
        if "reduce" in run.rungs and variable.type != "i" and rng.random() < 0.6:
            variable.reduce_on_full = "relative:0.05,deflate"


def attributes_of_buffer(run):
    text = f' on-full="{" ".join(run.rungs)}"' if run.rungs else ""
    return text + (f' spill="spill" spill-size="{run.spill_size}"' if "spill" in run.rungs else "")


def attributes_of_variable(variable):
    given = {"on-full": variable.own_on_full, "priority": variable.priority, "reduce-on-full": variable.reduce_on_full}
    return "".join(f' {name}="{value}"' for name, value in given.items() if value)


def refused(ledger):
    """The calls that returned that their data are left out, or that there is no room for them: no script repeats one."""
    return [call for call in ledger.returned(*DATA) if call.code in (SKIPPED, DROPPED) or has_no_room(call)]


def has_no_room(call):
    return call.code in (FULL, TOO_LARGE, STEP_TOO_LARGE)


def wrong_refusal(run, call):
    """A sentence if the XML does not allow what a call with data returned."""
    policies = {variable.name: variable.on_full for variable in run.variables}
    own = policies[call.words[1]]
    if call.code == SKIPPED and own != "skip":
        return f"was skipped, but its variable has on-full={own}"
    if call.code == DROPPED and "drop" not in policies.values():
        return "was dropped, but no variable has on-full=drop"
    if call.code in (FULL, STEP_TOO_LARGE) and own != "block" and not call.sentence.startswith("the lane of"):
        return f"was refused with {call.code}, but its variable has on-full={own}"
    return ""


def is_told(stored, call):
    """Whether the manifest names the variable in that step, and a step that was dropped as such."""
    name, step = call.words[1], int(call.words[2])
    return (name, step) in stored.left_out and (call.code != DROPPED or step in stored.dropped_steps)
