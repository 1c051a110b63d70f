"""Random traces with calls that set threads of servers to work, and a slow evaluator of them: section 5.3 of the paper, call by call."""

import random

LAYERS = ("hdf5", "mpiio", "posix")


class Trace:
    """`rows` are those of the store's table calls. A branch is what one call makes another thread do."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.rows, self.children = [], {}
        self.layers = sorted(self.random.sample(LAYERS, self.random.randint(1, 3)), key=LAYERS.index)  # the others were not observed
        for process in range(self.random.randint(1, 3)):
            time = 0
            for io in range(self.random.randint(1, 4)):
                time = self.call((process, 0), 0, time + self.random.randint(0, 50), self.random.randint(200, 1000), io)["end"]

    def call(self, lane, layer, begin, length, io, parent=None, is_branch=True, depth=0, fan=2):
        number = len(self.rows)
        row = {"id": number, "parent": -1 if parent is None else parent["id"], "root": number if parent is None else parent["root"],
               "branch": number if is_branch else parent["branch"], "process": lane[0], "thread": lane[1], "begin": begin, "end": begin + length,
               "depth": depth, "layer": self.layers[min(layer, len(self.layers) - 1)], "kind": "write", "function": "f",
               "object": self.random.randint(1, 3), "bytes": self.random.randint(0, 100), "io": io, "top": True, "below": 0}  # fmt: skip
        self.rows.append(row)
        self.children[number] = []
        if parent is not None:
            self.children[parent["id"]].append(row)
        above = row
        while above["id"] != above["branch"]:
            above = self.rows[above["parent"]]
            row["top"] &= above["layer"] != row["layer"]
        self.fill(row, lane, layer, io, depth, fan)
        return row

    def fill(self, row, lane, layer, io, depth, fan):
        begin, length = row["begin"], row["end"] - row["begin"]
        time = begin
        for _ in range(self.random.randint(0, 3) if length > 20 and depth < 4 else 0):
            part = self.random.randint(5, max(6, length // 3))
            if time + part > row["end"]:
                break
            self.call(lane, layer + self.random.randint(0, 1), time, part, io, row, False, depth + 1, fan)
            time += part
            row["below"] += part
        for _ in range(self.random.randint(1, 3) if fan and self.random.random() < 0.5 else 0):
            server = (10 + self.random.randint(0, 2), self.random.randint(0, 1))
            self.call(server, layer + 1, begin + 1, self.random.randint(5, length), None, row, True, 0, fan - 1)

    def of_branch(self, row):
        yield row
        for child in self.children[row["id"]]:
            if child["branch"] == row["branch"]:
                yield from self.of_branch(child)

    def times(self, branch, inclusive):
        """Nanoseconds by layer of a branch and all that it set to work."""
        total = {}
        for row in self.of_branch(branch):
            lanes, waits = {}, {}
            for child in self.children[row["id"]]:
                if child["branch"] == child["id"]:
                    lane = (child["process"], child["thread"])
                    waits[lane] = waits.get(lane, 0) + child["end"] - child["begin"]
                    for layer, ns in self.times(child, inclusive).items():
                        of_layer = lanes.setdefault(layer, {})
                        of_layer[lane] = of_layer.get(lane, 0) + ns
            own = row["end"] - row["begin"] if inclusive else row["end"] - row["begin"] - row["below"] - max(waits.values(), default=0)
            if row["top"] or not inclusive:
                total[row["layer"]] = total.get(row["layer"], 0) + own
            for layer, of_lane in lanes.items():
                total[layer] = total.get(layer, 0) + max(of_lane.values())
        return total

    def breakdown(self, inclusive):
        return {(row["process"], row["io"], layer): ns for row in self.rows if row["id"] == row["root"]
                for layer, ns in self.times(row, inclusive).items()}  # fmt: skip

    def operations(self):
        """Of each read and write of storage that sets nobody to work: its process, call, sub, server and row."""
        found = []
        for root in (row for row in self.rows if row["id"] == row["root"]):
            of_call = list(self.below(root, None))
            order = sorted({(fragment["begin"], fragment["id"]) for fragment, _ in of_call})
            for fragment, row in of_call:
                server = row["object"] if row["branch"] == root["id"] else row["process"]
                found.append((root["process"], root["io"], order.index((fragment["begin"], fragment["id"])), server, row))
        return found

    def below(self, row, fragment):
        sets_to_work = False
        for child in self.children[row["id"]]:
            is_elsewhere = child["branch"] == child["id"]
            sets_to_work |= is_elsewhere
            yield from self.below(child, fragment or row if is_elsewhere else fragment)
        if row["layer"] == "posix" and row["top"] and not sets_to_work:
            yield fragment or row, row

    def busy(self, *keys):
        """Nanoseconds in which at least one operation goes on, and bytes, by some of process, call, sub, server."""
        times, count = {}, {}
        for *of, row in self.operations():
            key = tuple(dict(zip(("process", "call", "sub", "server"), of, strict=True))[name] for name in keys)
            times.setdefault(key, set()).update(range(row["begin"], row["end"]))
            count[key] = count.get(key, 0) + row["bytes"]
        return {key: (len(of_key), count[key]) for key, of_key in times.items()}
