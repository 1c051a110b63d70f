"""The physical times of a run: whether the manifest tells what the clients did (dc_set_time), and nothing else.

Before it: scenario.py, which draws the calls. After it: check.py, with what the calls returned and what the manifest says.
"""


def line_of_time(step):
    return f"time {step} {step * 2}"


def wrong_times(stored, ledgers, too_late, excused):
    """Sentences. `too_late(ledger)`: the calls that no server took; `excused(phase, ledger, step)`: a call has reported it, or it died with the client."""
    tried = set()
    for phase, ledger in ledgers:
        unheard = too_late(ledger)
        for call in (call for call in ledger.calls if call.words[0] == "time"):
            step, time = int(call.words[1]), float(call.words[2])
            tried.add((step, time))
            heard = call.code == 0 and call.number not in unheard and not excused(phase, ledger, step)
            if heard and stored.is_complete(step) and stored.times.get(step) != time:
                yield f"{phase}: client {ledger.source}: {call.line}: the manifest of that step, which is complete, says {stored.times.get(step)}"
    for step, time in set(stored.times.items()) - tried:
        yield f"the manifest says that step {step} has the time {time}, but no client has given it"
