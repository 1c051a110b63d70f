"""06 without a dedicated core: each process wrote files of its own."""

from written import files_of, same

for step, files in enumerate(files_of("in_place", 3, servers=2)):
    tiles = {name: file["height"][name] for file in files for name in file["height"]}
    assert sorted(tiles) == ["0", "1"], tiles
    for client in range(2):
        same(tiles[str(client)], [1000 * step + 100 * client + i for i in range(20)], "f8")
