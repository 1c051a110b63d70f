#!/usr/bin/env bash
# dev.sh CASE: the entry script's answers, on a copy of it where the machine's commands are replaced by substitutes.
set -u -o pipefail
copy="$PWD/a copy"
rm -rf "$copy"
mkdir -p "$copy/substitutes"
cp -r "$DAMARIS_SOURCE_DIR"/{dev,scripts,requirements.txt,requirements-test.txt,requirements-trace.txt,requirements-bench.txt} "$copy/"
cd "$copy" || exit 1
substitute() { printf '#!/bin/sh\n%s\n' "$2" >"substitutes/$1" && chmod +x "substitutes/$1"; }

expect() { # STATUS TEXT PATH COMMAND...
  local status=0 want=$1 text=$2 path=$3 output
  shift 3
  output=$(PATH=$path "$@" 2>&1) || status=$?
  printf '%s\n' "$output"
  [ "$status" = "$want" ] || { echo "ended with $status, expected $want"; exit 1; }
  grep -qE "$text" <<<"$output" || { echo "did not print: $text"; exit 1; }
}

# A machine where everything is installed, and a cmake that only says what it was asked.
ready_machine() {
  substitute dpkg-query 'echo installed'
  # shellcheck disable=SC2016
  substitute cmake 'echo "cmake $*" >>asked; case "$*" in *--preset*) for p in "$@"; do :; done; mkdir -p "build/$p"
    echo "DAMARIS_MPI:STRING=OFF" >"build/$p/CMakeCache.txt"; touch "build/$p/build.ninja" ;; esac'
  substitute ctest 'case "$*" in *--print-labels*) echo "  unit" ;; *) echo "Total Tests: 0" ;; esac'
  mkdir .venv
  { pwd && cat requirements.txt; } >.venv/stamp
  cp requirements-test.txt .venv/stamp-test
  cp requirements-trace.txt .venv/stamp-trace
  cp requirements-bench.txt .venv/stamp-bench
}

case $1 in
  unknown_verb) expect 2 "unknown verb 'tset'" "$PATH" ./dev tset ;;
  help_names_verbs) for verb in demo test setup build bench lint install run clean; do
      expect 0 "^  $verb " "$PATH" ./dev --help >/dev/null || { echo "no $verb"; exit 1; }
    done ;;
  help_names_labels)
    listed=$(./dev --help | sed -n 's/^ *labels: //p' | tr ' ' '\n' | sort)
    have=$(ctest --test-dir "$DAMARIS_BUILD_DIR" --print-labels | sed -n 's/^  //p' | sort)
    printf 'listed: %s\nhave: %s\n' "$(xargs <<<"$listed")" "$(xargs <<<"$have")"
    [ -z "$(comm -13 <(echo "$listed") <(echo "$have"))" ] || { echo "a label is not listed"; exit 1; }
    # Only the default tree has all.
    [ "$(basename "$DAMARIS_BUILD_DIR")" != dev ] || [ "$listed" = "$have" ] || { echo "a listed label has no test"; exit 1; } ;;
  help_of_a_verb_does_nothing)
    ready_machine
    for verb in demo test setup build bench lint install run clean; do
      expect 0 '^usage: ./dev VERB' "$copy/substitutes:$PATH" ./dev $verb --help >/dev/null || { echo "$verb"; exit 1; }
    done
    mkdir test
    cp -r "$DAMARIS_SOURCE_DIR"/test/{torture,soak,mutate} test/
    for verb in torture soak mutate fuzz; do # these have more to say
      expect 0 "^usage: ./dev $verb " "$copy/substitutes:$PATH" ./dev $verb --help >/dev/null || { echo "$verb"; exit 1; }
    done
    said=$(python3 scripts/fuzz build/fuzz --minutes 1 nonsense 2>&1) && exit 1
    [[ $said == *"no target 'nonsense'"* ]] || { echo "a target behind an option: $said"; exit 1; }
    cp -r "$DAMARIS_SOURCE_DIR"/bench .
    expect 0 '^usage: ./dev bench all ' "$copy/substitutes:$PATH" ./dev bench all --help >/dev/null || { echo "bench all"; exit 1; }
    if [ -e build ] || [ -e asked ] || [ -e ./--help ]; then echo "something was done" && exit 1; fi ;;
  unknown_test_builds_nothing)
    ready_machine
    expect 1 "no test of preset dev has 'nosuch'.*labels: unit" "$copy/substitutes:$PATH" ./dev test nosuch || exit 1
    ! grep -q -e --build asked || { echo "built before the name was looked up"; exit 1; } ;;
  unknown_command_has_a_remedy)
    ready_machine
    (PATH="$copy/substitutes:$PATH" cmake --preset dev)
    expect 1 "dev: run: no command 'nosuch'.*\./dev build" "$PATH" ./dev run nosuch ;;
  install_takes_presets)
    ready_machine
    for pair in dev:release mpich:release-mpich serial:release-serial; do
      export DAMARIS_PRESET=${pair%:*}
      expect 0 'installed into' "$copy/substitutes:$PATH" ./dev install a/place >/dev/null
      grep -qx "cmake --install build/${pair#*:} --prefix $copy/a/place" asked || { echo "$pair was not installed"; exit 1; }
      grep -qF "\"name\": \"${pair#*:}\"" "$DAMARIS_SOURCE_DIR/CMakePresets.json" || { echo "no such preset"; exit 1; }
    done
    DAMARIS_PRESET=asan expect 1 'asan cannot be installed' "$copy/substitutes:$PATH" ./dev install a/place ;;
  bench_finds_its_program)
    ready_machine
    substitute damaris-bench 'echo "damaris-bench $*"'
    mkdir -p .venv/bin build/dev/bin
    # shellcheck disable=SC2016
    substitute python 'echo "python $*"' && mv substitutes/python .venv/bin/
    while read -r arguments program; do
      # shellcheck disable=SC2086
      expect 0 "^$program\$" "$copy/substitutes:$PATH" ./dev bench ${arguments//,/ } || exit 1
    done <<'END'
write,--quick damaris-bench write --quick
--quick,--update python .*/a copy/bench/guard/guard.py --quick --update
phases,--ranks,2 python .*/a copy/bench/phases/bench_phases.py --ranks 2
all,--only,queue python .*/a copy/bench/all/bench_all.py --only queue
END
    expect 1 "name a benchmark, not nix: write queue" "$copy/substitutes:$PATH" ./dev bench nix ;;
  bench_goes_on_without_what_it_compares_with)
    ready_machine
    rm .venv/stamp-bench
    mkdir -p .venv/bin build/dev/bin
    # shellcheck disable=SC2016
    substitute python 'echo "python $*" >>asked; case "$*" in *pip*) echo no network; exit 1 ;; esac; echo "measured $*"'
    mv substitutes/python .venv/bin/
    expect 0 'continuing without adios2' "$copy/substitutes:$PATH" ./dev bench phases || exit 1
    expect 0 '^measured' "$copy/substitutes:$PATH" ./dev bench phases || exit 1
    [ "$(grep -c pip asked)" = 1 ] || { echo "asked for it again"; exit 1; } ;;
  gate_names_what_all_adds)
    ready_machine
    # shellcheck disable=SC2016
    substitute ctest 'echo "ctest $*" >>asked; case "$*" in *-N*) echo "  Test #1: some_long" ;; esac'
    mkdir -p .venv/bin test/fuzz && touch test/fuzz/config.cpp
    substitute python 'echo "1 passed"' && mv substitutes/python .venv/bin/
    expect 0 '^  dev +1 tests: some_long' "$copy/substitutes:$PATH" ./dev test || exit 1
    grep -qx 'fuzz: fuzz_config' build/log/only-in-all.txt || { echo "a fuzz target was not named"; exit 1; }
    grep -q -e '--build build/mpich --target gate' asked || { echo "more of mpich was built than the gate"; exit 1; }
    ! grep -q 'build/fuzz' asked || { echo "the gate built fuzz targets"; exit 1; }
    rm asked
    said=$(expect 0 '== fuzz' "$copy/substitutes:$PATH" ./dev test all) || { echo "$said"; exit 1; }
    ! grep -q 'also runs' <<<"$said" || { echo "nothing is left out"; exit 1; }
    ! grep -q -e '--target gate' asked || { echo "all built only the gate"; exit 1; } ;;
  jobs_follow_memory)
    substitute nproc 'echo 8'
    for pair in 20000000:9 4000000:4 500000:1; do
      echo "MemAvailable:   ${pair%:*} kB" >meminfo
      # shellcheck disable=SC2016
      expect 0 "^${pair#*:}\$" "$copy/substitutes:$PATH" bash -c 'ROOT=$PWD; . scripts/dev/build.sh; MEMINFO=meminfo; build_jobs'
    done ;;
  install_refuses_options) expect 1 "'--prefix=x' is not a folder" "$PATH" ./dev install --prefix=x ;;
  no_root_prints_line)
    substitute id 'echo 1000'
    substitute sudo 'exit 1'
    substitute dpkg-query 'case "$*" in *gfortran) exit 1 ;; *) echo installed ;; esac'
    expect 1 'sudo apt-get update && sudo apt-get install -y --no-install-recommends gfortran *$' "$copy/substitutes:$PATH" ./dev setup ;;
  not_debian_names_packages)
    for tool in bash dirname grep tr; do ln -s "$(command -v $tool)" "substitutes/$tool"; done
    expect 1 'not Debian.*libxerces-c-dev' "$copy/substitutes" bash ./dev setup ;;
  leftovers_are_named)
    : >damaris.before && : >damaris.left
    env DAMARIS_DEV_RUN=planted sleep 43 >/dev/null & planted=$!
    trap 'kill "$planted"' EXIT
    # shellcheck disable=SC2016
    expect 1 'region .*damaris\.left' "$PATH" bash -c 'ROOT=$PWD; . scripts/dev/progress.sh; . scripts/dev/test.sh
      SHM_DIR=. REGIONS_BEFORE="|./damaris.before|" RUN_MARK=planted; nothing_left' | tee output || exit 1
    grep -q "process $planted: sleep 43" output || { echo "the process was not named"; exit 1; }
    ! grep -q damaris.before output || { echo "an older region was named"; exit 1; } ;;
  failure_shows_log)
    # shellcheck disable=SC2016
    expect 7 'the cause' "$PATH" bash -c 'ROOT=$PWD; . scripts/dev/progress.sh; quietly "a step" sh -c "echo the cause; exit 7"' ;;
esac
