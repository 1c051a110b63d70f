"""02: two fields joined to global arrays without their halo, and a number per client."""

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("several_variables", 2)):
    places = [[1000 * step + 100 * j + i for i in range(12)] for j in range(4)]
    same(file["fields/temperature"], places, "f4")
    same(file["fields/pressure"], [[place + 0.5 for place in row] for row in places], "f8")
    described(file["fields/temperature"], units="K", description="Temperature of the air", iteration=step, layout="field")
    described(file["fields/pressure"], units="Pa", layout="fine_field")
    assert file["fields/pressure"].compression == "gzip" and file["fields/pressure"].shuffle, "filters of the XML"
    assert file.attrs["time"] == 0.25 * step, "physical time of the step"
    for rank in range(2):
        number = file[f"iterations/{rank}"]
        assert number.dtype == "i4" and number[...].ravel().tolist() == [10 * step + rank], f"{number.name}: {number[...]}"
