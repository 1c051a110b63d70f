"""03: the plugin was called for steps 0 and 2, once for both clients, with the data of the step."""

with open("summary.txt", encoding="utf-8") as file:
    lines = file.read().splitlines()
assert lines == [
    "look step 0: temperature from 0 to 199 K in 200 points of 2 clients",
    "look step 2: temperature from 0.5 to 199.5 K in 200 points of 2 clients",
], lines
