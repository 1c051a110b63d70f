"""06: one server wrote for both clients."""

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("detached", 3)):
    same(file["height"], [[1000 * step + 100 * client + i for i in range(20)] for client in range(2)], "f8")
    described(file["height"], units="m")
    assert file["height"].attrs["sources"].tolist() == [0, 1]
