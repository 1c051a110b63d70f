#!/usr/bin/env bash
# bounded.sh CASE: does scripts/bounded keep what it promises?
set -u
bounded=$DAMARIS_SOURCE_DIR/scripts/bounded
export DAMARIS_BOUNDED_GRACE_S=1
expect() { # STATUS TEXT COMMAND...
  local status=0 want=$1 text=$2 output
  shift 2
  output=$("$@" 2>&1) || status=$?
  printf '%s\n' "$output"
  [ "$status" = "$want" ] || { echo "ended with $status, expected $want"; exit 1; }
  grep -qE "$text" <<<"$output" || { echo "did not print: $text"; exit 1; }
}

case $1 in
  timeout_prints_stacks) expect 124 '^#[0-9]+ .*nanosleep|no stack' "$bounded" 5 sleep 50 ;; # time for it to start, where others use the cores
  left_process_fails) expect 1 'LEFT RUNNING .* sleep 41' "$bounded" 20 bash -c 'sleep 41 >/dev/null 2>&1 & exit 0' ;;
  detached_process_is_found) expect 1 'LEFT RUNNING .* sleep 42' "$bounded" 20 bash -c 'setsid -f sleep 42 >/dev/null 2>&1' ;;
  status_is_passed) expect 3 '^said$' "$bounded" 20 bash -c 'echo said; exit 3' ;;
  skip_is_passed) expect 77 'SKIP: no network' "$bounded" 20 bash -c 'echo "SKIP: no network"; exit 77' ;;
esac
