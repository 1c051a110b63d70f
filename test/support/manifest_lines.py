"""Reads what shards of a manifest describe, by docs/file-format.md alone: nothing of the library is used."""

import json
import struct
import zlib

NUMBERS = {"stored_bytes": "Q", "checksum": "I"}  # the columns of the others are doubles, of which NaN is none


def files_of(folder, line):
    """The files of a step's line, as a line that describes them itself has them."""
    files = list(line.get("files", []))
    for place in line.get("described", []):
        shard = (folder / place["in"]).read_bytes()
        assert shard[:8] == b"DMSHARD1", place["in"]
        content = shard[place["at"]:place["at"] + place["bytes"]]
        assert f"crc32:{zlib.crc32(content):08x}" == place["checksum"], place
        while content:
            facts_at, size = struct.unpack_from("<QQ", content)
            files += server_files(facts_in(shard, facts_at), content[16:16 + size])
            content = content[16 + size:]
    return files


def facts_in(shard, at):
    kind, checksum, size = struct.unpack_from("<4sIQ", shard, at)
    facts = shard[at + 16:at + 16 + size]
    assert kind == b"fact" and zlib.crc32(facts) == checksum, at
    return json.loads(facts)


def server_files(files, values):
    head, columns = values.split(b"\n", 1)
    head = json.loads(head)
    datasets = [dataset for file in files for dataset in file["datasets"]]
    for name in head["columns"]:
        kind = f"<{len(datasets)}{NUMBERS.get(name, 'd')}"
        numbers, columns = struct.unpack_from(kind, columns), columns[struct.calcsize(kind):]
        for dataset, number in zip(datasets, numbers):
            if number == number:
                dataset[name] = f"crc32:{number:08x}" if name == "checksum" else number
    assert not columns and len(files) == len(head["files"])
    return [{**file, **values} for file, values in zip(files, head["files"])]
