"""05: as many particles as each client had in each step, none at first, as a compound type."""

from written import file_of_each_step, same

PARTICLE = [("position", "f8", (3,)), ("charge", "f4"), ("id", "i4")]

for step, file in enumerate(file_of_each_step("variable_size", 4)):
    for rank in range(2):
        count = 2 * step + rank
        particles = [((p, rank, step), 1 if p % 2 == 0 else -1, 100 * rank + p) for p in range(count)]
        same(file[f"particles/{rank}"], particles, PARTICLE)
