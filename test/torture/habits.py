"""What a simulation does besides its calls: threads that come and go, children, timers whose signals interrupt it, sizes that change.

Before it: scenario.py, which has drawn the calls; each habit has its own numbers, so that a seed draws the same calls with and without.
After it: client.c, which has them; none of them explains an error.
"""

import signal

DATA = ("write", "alloc")
SHARE = {"threads": 0.15, "forks": 0.2, "alarms": 0.2}  # of the runs
HOW = ("exit", "_exit", "calls", "system", "popen")


def draw_sizes(run, rng):
    """Some of the variables whose blocks differ have one size for all blocks of a step, by a parameter."""
    for variable in run.variables:
        if variable.kind == "varying" and rng.random() < 0.4:
            variable.kind = "resized"


def weave_habits(run, rng):
    scripts = run.scripts["first"]
    if rng.random() < SHARE["threads"]:
        team = rng.randint(1, 3)
        run.threads = team + 1
        for lines in scripts:
            weave_teams(rng, team, lines)
    if rng.random() < SHARE["forks"]:
        for lines in scripts:
            weave_forks(rng, run, lines)


def weave_alarms(run, rng):
    """From before the start on."""
    if rng.random() < SHARE["alarms"]:
        number = rng.choice((signal.SIGALRM, signal.SIGUSR1))
        for lines in run.scripts["first"]:
            lines.insert(0, f"alarm {int(number)} {int(2 ** rng.uniform(7, 14))} {rng.choice((0, 1))}")


def weave_teams(rng, team, lines):
    """Writes that follow one another, by new threads. Only one thread may end a step, as a first call with a later one does."""
    begin, open_step, ended = 0, -1, True
    while begin < len(lines):
        word = lines[begin].split()[0]
        if word == "end":
            ended = True
        if word not in DATA:
            begin += 1
            continue
        step = int(lines[begin].split()[2])
        if step != open_step and not ended:
            open_step = step
            begin += 1
            continue
        open_step, ended = step, False
        end = begin
        while end < len(lines) and lines[end].split()[0] in DATA and int(lines[end].split()[2]) == step:
            end += 1
        if end - begin > 1 and rng.random() < 0.8:
            lines[begin:end] = [f"team {team}", *(f"in {rng.randrange(team)} {line}" for line in lines[begin:end]), "join"]
            end += 2
        begin = end


def weave_forks(rng, run, lines):
    hows = HOW if run.mode != "mpi" else ("_exit", "system", "popen")  # what a child's exit does to MPI is not ours
    for _ in range(rng.randint(1, 3)):
        places = [at for at in range(1, len(lines) + 1) if not (lines[at - 1].startswith(("shape", "place", "team", "in ")))]
        variable, step = rng.choice(run.variables).name, rng.randrange(20)
        lines.insert(rng.choice(places), f"fork {rng.choice(hows)} {variable} {step}")
