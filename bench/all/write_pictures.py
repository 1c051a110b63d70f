"""Pictures of bench write: by size what a write adds to its memcpy, the classic parts, and the late writes of a busy server.

Used by: chapters.py. Before it: the report of write. After it: sections of the page.
"""

from page import new_figure

COLOURS = {"write_to": "#009e73", "by name": "#0072b2", "alloc+commit": "#cc79a7", "classic parts": "#d55e00", "memcpy": "#888888"}
NAMES = {"write_to": "dc_write through a handle", "by name": "dc_write by name", "alloc+commit": "dc_alloc + dc_commit"}
LARGE = 1 << 20  # from here on quotients say more than differences
SIZES = """Medians, idle server: left what a write of up to 256 KiB takes beyond its memcpy, right by how much a larger one takes longer
(above 1) or less long than it. dc_alloc + dc_commit contains the memcpy that fills what was handed out."""
CLASSIC = "Beyond memcpy, as medians: what a dc_write adds, and what allocating, copying and sending a message with boost's parts adds."
BUSY = """p99 by p50 of writes while the server works, that of memcpy beside it: what the machine does by itself. The line is what is
good, the dotted one the aim."""
CLIENTS = "Clients that write at the same time, a process each; median over all. The factor is that of the medians."


def add_write(page, report):
    details = report["details"]
    idle = [one for one in details if one["server"] == "idle" and "clients" not in one and "against" not in one]
    page.add("By size", SIZES, draw_sizes(idle))
    classic = [one for one in details if one.get("against") == "classic parts" and one["bytes"] < LARGE]
    if classic:
        page.add("Against the classic parts", CLASSIC, draw_added(classic))
    busy = [one for one in details if one["server"] != "idle"]
    if busy:
        page.add("Late writes", BUSY, draw_busy(busy), busy_table(busy))
    clients = [one for one in details if "clients" in one]
    if clients:
        page.add("Several clients", CLIENTS, table=clients_table(clients))


def medians(details):
    """{method: {bytes: ns}}."""
    found = {}
    for one in details:
        found.setdefault(one["method"], {})[one["bytes"]] = one["wall_ns"]["median"]
    return found


def draw_sizes(details):
    times = medians(details)
    plain = times.pop("memcpy")
    figure = new_figure(11, 4)
    left, right = figure.subplots(1, 2)
    draw_differences(left, times, plain)
    for method, line in times.items():
        sizes = [size for size in line if size >= LARGE]
        right.plot(sizes, [line[size] / plain[size] for size in sizes], "o-", color=COLOURS[method])
    right.axhline(1, color="black", linewidth=0.6)
    sized(right, sorted(size for size in plain if size >= LARGE))
    right.set(ylabel="time / time of memcpy", title="1 MiB and more", ylim=(0, 1.1 * right.get_ylim()[1]))
    left.set_title("less than 1 MiB")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_added(details):
    times = medians(details)
    figure = new_figure(11, 3.2)
    draw_differences(figure.subplots(), times, times.pop("memcpy"))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_differences(axis, times, plain):
    small = sorted(size for size in plain if size < LARGE)
    for method, line in times.items():
        axis.plot(small, [line[size] - plain[size] for size in small], "o-", color=COLOURS[method], label=NAMES.get(method, method))
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_ylabel("ns beyond memcpy")
    axis.set_yscale("symlog", linthresh=10)
    axis.margins(y=0.12)
    axis.yaxis.set_major_formatter(lambda ns, _: f"{ns:.0f}")
    sized(axis, small)


def sized(axis, sizes):
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [size_text(size) for size in sizes])
    axis.set_xticks([], minor=True)
    axis.grid(axis="y", color="#eeeeee", linewidth=0.6)


def size_text(size):
    for least, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= least:
            return f"{size / least:g} {unit}"
    return f"{size} B"


def ns_text(ns):
    return f"{ns:.3g} ns" if ns < 1000 else f"{ns / 1e3:.3g} us" if ns < 1e6 else f"{ns / 1e6:.3g} ms"


def case_of(one):
    return f"{size_text(one['bytes'])}, server {one['server']}"


def draw_busy(details):
    cases = list(dict.fromkeys(map(case_of, details)))
    figure = new_figure(11, 0.9 + 0.6 * len(cases))
    axis = figure.subplots()
    for offset, method in ((-0.18, "memcpy"), (0.18, "write_to")):
        for one in details:
            if one["method"] == method:
                place, late = cases.index(case_of(one)) + offset, one["p99_over_p50"]
                axis.barh(place, late, height=0.32, color=COLOURS[method])
                axis.annotate(f" {late:.2f} {'dc_write' if method == 'write_to' else method}", (late, place), va="center", fontsize=8)
    axis.axvline(2, color="black", linewidth=0.8)
    axis.axvline(1.3, color="black", linewidth=0.8, linestyle=":")
    axis.set(xlabel="p99 / p50", yticks=range(len(cases)), ylim=(len(cases) - 0.5, -0.5))
    axis.set_yticklabels(cases)
    return figure


def busy_table(details):
    return ["", "", "p50", "p99", "p99 / p50", "writes", "server, % of a core"], [busy_line(one) for one in details]


def busy_line(one):
    times, method = one["wall_ns"], "memcpy" if one["method"] == "memcpy" else "dc_write"
    return [case_of(one), method, ns_text(times["median"]), ns_text(times["p99"]), f"{one['p99_over_p50']:.2f}", one["samples"],
            f"{one['server_core_percent']:.0f}"]


def clients_table(details):
    pairs = zip(*([one for one in details if one["method"] == method] for method in ("memcpy", "write_to")))
    return ["clients", "size", "memcpy", "dc_write", "factor", "a core for each"], [clients_line(plain, ours) for plain, ours in pairs]


def clients_line(plain, ours):
    before, now = plain["wall_ns"]["median"], ours["wall_ns"]["median"]
    return [plain["clients"], size_text(plain["bytes"]), ns_text(before), ns_text(now), f"{now / before:.2f}",
            "yes" if plain["own_cores"] else "no"]
