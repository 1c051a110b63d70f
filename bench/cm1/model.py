"""The model of docs/when-does-it-pay.md, for runs of a few outputs.

Used by: bench_cm1.py and its pictures. Before it: measured times of one output. After it: a time to solution.
"""


def predict(compute_s, visible_s, server_s, outputs, room):
    """Time to solution with a dedicated core, in seconds.

    compute_s, visible_s: between two outputs, with one core less; server_s: until an output is stored; outputs: after
    the first, which comes at the start; room: outputs that fit into the buffer.
    """
    simulation = visible_s
    stored = [simulation + server_s]
    for output in range(1, outputs + 1):
        simulation += compute_s + visible_s
        if output >= room:
            simulation = max(simulation, stored[output - room])
        stored.append(max(simulation, stored[-1]) + server_s)
    return max(simulation, stored[-1])


def break_even(cores, scaling=1.0, visible=0.0):
    """Write time by compute time from which a dedicated core pays. scaling: C_ded by C N / (N - 1); visible: V / C."""
    return scaling * cores / (cores - 1) - 1 + visible


def most_gain(cores, share, scaling=1.0):
    """Time to solution without a dedicated core by that with one, when it hides all of the output."""
    return (1 + share) / (scaling * cores / (cores - 1))
