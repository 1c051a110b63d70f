#!/usr/bin/env bash
# dev.sh CASE: the entry script's answers, on a copy of it where the machine's commands are replaced by substitutes.
set -u -o pipefail
copy="$PWD/a copy"
rm -rf "$copy"
mkdir -p "$copy/substitutes"
cp -r "$DAMARIS_SOURCE_DIR"/{dev,scripts,requirements.txt} "$copy/"
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

case $1 in
  unknown_verb) expect 2 "unknown verb 'tset'" "$PATH" ./dev tset ;;
  help_names_verbs) for verb in demo test setup build bench lint install run clean; do
      expect 0 "^  $verb " "$PATH" ./dev --help >/dev/null || { echo "no $verb"; exit 1; }
    done ;;
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
