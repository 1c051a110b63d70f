"""06: one server wrote for both clients."""

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("detached", 3)):
    for client in range(2):
        same(file[f"height/{client}"], [1000 * step + 100 * client + i for i in range(20)], "f8")
        described(file[f"height/{client}"], units="m", source=client)
