"""04: what was computed in shared memory is what is in the files."""

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("alloc_commit", 3)):
    velocity = [[step + 10 * rank + 0.5 * i for i in range(50)] for rank in range(2)]
    same(file["energy"], [[0.5 * v * v for v in of_rank] for of_rank in velocity], "f8")
    described(file["energy"], units="J/kg")
