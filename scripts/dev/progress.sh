# shellcheck shell=bash
# Runs long commands quietly: shows progress with the elapsed time, and the end of the log after a failure.
# Sourced by ./dev; needs ROOT. The other parts use BOLD and PLAIN.

LOG_DIR=$ROOT/build/log
TTY='' BOLD='' RED='' GREEN='' PLAIN=''
if [ -t 1 ]; then TTY=yes BOLD=$'\e[1m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'; fi

say() { printf '%s\n' "$*"; }
fail() {
  printf '%s\n' "${RED}dev: $*${PLAIN}" >&2
  exit 1
}

# The newest line of a log, which shows the progress, shortened.
log_state() { tail -c 400 "$1" 2>/dev/null | tr '\r' '\n' | grep -a . | tail -n 1 | cut -c1-70; }

# quietly LABEL COMMAND...: output to build/log/LABEL.log; returns the command's status.
quietly() {
  local label=$1 log start=$SECONDS shown=$SECONDS pid rc=0
  shift
  mkdir -p "$LOG_DIR"
  log="$LOG_DIR/${label//[ \/]/-}.log"
  # A process group of its own, so that an interrupt ends all processes and not only the first one.
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -- -"$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    if [ -n "$TTY" ]; then
      printf '\r\e[K%s: %d s  %s' "$label" $((SECONDS - start)) "$(log_state "$log")"
    elif [ $((SECONDS - shown)) -ge 20 ]; then
      shown=$SECONDS
      printf '%s: %d s  %s\n' "$label" $((SECONDS - start)) "$(log_state "$log")"
    fi
    sleep 0.2
  done
  wait "$pid" || rc=$?
  trap - INT TERM
  [ -z "$TTY" ] || printf '\r\e[K'
  if [ "$rc" = 0 ]; then
    say "$label: ${GREEN}done${PLAIN} in $((SECONDS - start)) s"
  else
    tail -n 40 "$log"
    say "$label: ${RED}failed${PLAIN} after $((SECONDS - start)) s (whole log: $log)"
  fi
  return "$rc"
}
