#!/usr/bin/env bash
# bench.sh CASE: damaris-bench as its users see it.
set -eu
fail() { echo "$*"; exit 1; }

# expect_rows FILE NAME...: the file is JSON of the agreed form, with these rows first to last and no others.
expect_rows() {
  "$DAMARIS_PYTHON" - "$@" <<'END'
import json, math, sys
report = json.load(open(sys.argv[1]))
names = [row["name"] for row in report["rows"]]
assert names == sys.argv[2:], names
for key in ("processor", "cores", "memory_bytes", "system", "damaris"):
    assert report["machine"][key], key
for row in report["rows"]:
    low, high = row["interval"]
    assert low <= row["ratio"] <= high, row
    assert row["better"] in ("lower", "higher"), row
    assert (row["aim"] < row["good"]) == (row["better"] == "lower"), row
assert report["details"] and report["quick"] is True
def numbers(value):
    if isinstance(value, dict): value = list(value.values())
    if isinstance(value, list): return [n for v in value for n in numbers(v)]
    return [value] if value is None or isinstance(value, float) else []
assert all(n is not None and math.isfinite(n) for n in numbers(report)), "a number that is none"
END
}

# expect_details FILE KEY=VALUE...: there is a memcpy and a write with these keys and values, and each has times.
expect_details() {
  "$DAMARIS_PYTHON" - "$@" <<'END'
import json, sys
wanted = dict(pair.split("=") for pair in sys.argv[2:])
found = [d for d in json.load(open(sys.argv[1]))["details"] if all(str(d.get(key)) == value for key, value in wanted.items())]
for method in ("memcpy", "write_to"):
    times = [d for d in found if d["method"] == method]
    assert len(times) == 1, (wanted, method, found)
    assert times[0]["samples"] > 0 and times[0]["wall_ns"]["median"] > 0 and times[0]["p99_over_p50"] >= 1, times
END
}

narrow() { if grep -E '.{81}' "$1"; then fail "wider than 80 columns"; fi; }

case $1 in
  help)
    damaris-bench --help >out
    for verb in write log queue reduce persist slots never-stops; do
      [ $verb = write ] || [ $verb = log ] || [ $verb = queue ] || [ "$DAMARIS_BENCH_STORAGE" = 1 ] || continue
      grep -q "^  $verb " out || fail "the help does not name $verb"
    done
    for option in --quick --clients; do
      damaris-bench write --help | grep -q -- $option || fail "the help of write does not name $option"
    done
    ;;
  wrong_usage)
    for arguments in "" "nonsense" "write --folder /nonexistent" "write --clients 0"; do
      rc=0
      # shellcheck disable=SC2086
      damaris-bench $arguments 2>err || rc=$?
      [ "$rc" = 2 ] || fail "'damaris-bench $arguments' ended with $rc"
    done
    ;;
  write)
    rows=("dc_write 64 B, ns added over memcpy" "dc_write >= 1 MiB over memcpy" "idle server, % of a core"
      "dc_write 64 B, time beyond memcpy: times less than the classic parts")
    if [ "$DAMARIS_BENCH_STORAGE" = 1 ]; then
      for busy in "1 MiB writes" "1 MiB compresses" "16 MiB compresses"; do
        size=${busy% *} what=${busy##* }
        rows+=("dc_write $size over memcpy, server $what" "dc_write $size, server $what, p99 / p50")
      done
    fi
    if [ "$(nproc)" -gt 2 ]; then # two clients have a core each only then
      rows+=("dc_write 64 B, ns added over memcpy, 2 clients" "dc_write 1 MiB over memcpy, 2 clients")
    fi
    damaris-bench write --quick --clients 2 --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "${rows[@]}"
    for clients in 1 2; do
      for bytes in 64 1048576; do expect_details report.json clients=$clients bytes=$bytes; done
    done
    for bytes in 64 4096 1048576; do expect_details report.json "against=classic parts" bytes=$bytes; done
    [ "$DAMARIS_BENCH_STORAGE" != 1 ] || expect_details report.json server=compresses bytes=16777216
    ;;
  log)
    rows=("8 processes, stopped: log / file each, fsync")
    [ "$DAMARIS_BENCH_STORAGE" != 1 ] || rows+=("8 processes, stopped: log / file each, 200 MB/s")
    rows+=("dc_append_to 1 MiB over memcpy" "dc_append_to 64 B, ns added over memcpy")
    damaris-bench log --quick --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "${rows[@]}"
    [ "$(echo damaris-bench.*)" = 'damaris-bench.*' ] || fail "left a folder"
    ;;
  queue)
    rows=()
    for producers in "1 producer" "2 producers" "3 producers"; do rows+=("event against boost message_queue, $producers"); done
    damaris-bench queue --quick --json report.json >out
    cat out
    narrow out
    expect_rows report.json "${rows[@]}"
    ;;
  reduce)
    rows=()
    add() {
      rows+=("$1")
      if grep -q avx512_vbmi /proc/cpuinfo; then rows+=("$2, no AVX-512"); fi
      case $2 in 16*) rows+=("$2, HDF5 converts too") ;; esac
      rows+=("ratio to HDF5's, $2" "shuffle + libdeflate 1 / ours, $2" "size of shuffle + libdeflate 1 / ours, $2")
    }
    for time in t01800 t03600; do
      add "deflate 8 CM1 fields, a tile a chunk, $time" "8 CM1 fields, $time"
      add "16 bits, 8 CM1 fields, $time" "16 bits, $time"
    done
    add "turbulence fields" "turbulence fields"
    damaris-bench reduce --quick --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "${rows[@]}"
    [ "$(echo *.h5)" = '*.h5' ] || fail "left a file"
    ;;
  persist)
    damaris-bench persist --quick --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "HDF5 file, of pwrite" "durable step, of pwrite + fsync" \
      "4 KiB block with positions, us of CPU" "4 KiB block per source, us of CPU"
    [ "$(echo damaris-bench.*)" = 'damaris-bench.*' ] || fail "left a folder"
    ;;
  slots)
    rows=()
    for schedule in slots coordinated; do rows+=("$schedule: target's rate" "$schedule: worst write"); done
    damaris-bench slots --quick --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "${rows[@]}"
    ;;
  never-stops)
    damaris-bench never-stops --quick --folder . --json report.json >out
    cat out
    narrow out
    expect_rows report.json "write phase while the storage hangs 0.3 s, p99 of quiet" "write phase while a plugin sleeps 0.3 s, p99 of quiet" \
      "storage at a tenth of the output, slowest phase of memcpy" "longest of 2000 writes beyond its memcpy, us" \
      "64 B, server asleep, ns beyond memcpy" "64 B, server polls, ns beyond memcpy" "64 B, server compresses, ns beyond memcpy" \
      "64 B by name, ns beyond a handle"
    [ "$(echo damaris-bench.*)" = 'damaris-bench.*' ] || fail "left a folder"
    ;;
  unwritable_json)
    rc=0
    damaris-bench queue --quick --json missing/report.json >out 2>err || rc=$?
    [ "$rc" = 2 ] || fail "ended with $rc"
    [ ! -s out ] || fail "it measured before it looked: $(cat out)"
    grep -q 'there is no folder missing' err || fail "the message does not name the folder: $(cat err)"
    rc=0
    damaris-bench queue --quick --json /dev/full 2>err || rc=$?
    [ "$rc" = 1 ] || fail "ended with $rc"
    grep -q 'cannot write /dev/full' err || fail "the message does not name the file: $(cat err)"
    ;;
  nothing_left)
    mkdir -p output
    damaris-bench write --quick --folder output >out
    [ -z "$(ls -A output)" ] || fail "left in the folder: $(ls -A output)"
    user=$(id -u)
    for region in /dev/shm/damaris."$user".bench-* /dev/shm/damaris.bench.*; do
      # The process that made it, by the number in its name; that of another benchmark which runs meanwhile lives.
      case $region in
        *.bench-*) owner=${region#*.bench-} owner=${owner%%.*} ;;
        *) owner=${region%.messages} owner=${owner%.replies} owner=${owner##*.} ;;
      esac
      [ -e "/proc/$owner" ] || [ ! -e "$region" ] || fail "left in /dev/shm: $region"
    done
    ;;
  interrupted)
    mkdir -p output
    user=$(id -u)
    damaris-bench write --folder output >out 2>err & # not a quick one: it would take more than a minute
    bench=$!
    for ((tenths = 0; tenths < 600; ++tenths)); do
      compgen -G "/dev/shm/damaris.$user.bench-$bench.*" >regions && break
      sleep 0.1
    done
    [ -s regions ] || fail "no region after a minute: $(cat err)"
    kill -TERM $bench
    rc=0
    wait $bench || rc=$?
    [ "$rc" = 130 ] || fail "ended with $rc: $(cat err)"
    grep -q interrupted err || fail "it does not say that it was interrupted: $(cat err)"
    [ -z "$(ls -A output)" ] || fail "left in the folder: $(ls -A output)"
    if compgen -G "/dev/shm/damaris.$user.bench-$bench.*"; then fail "left in /dev/shm"; fi
    ;;
  *) fail "no case '$1'" ;;
esac
