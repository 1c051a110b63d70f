# shellcheck shell=bash
# Runs every test in every flavour, the cheap ones first. Sourced by ./dev; needs ROOT.

# The tests of a preset that ./dev test runs without arguments: all of dev; of the others those that their difference can break.
labels_of() {
  case $1 in
    dev) echo '.' ;;
    mpich) echo '^(mpi|api|examples|cm1|install)$' ;;
    serial) echo '^(unit|node|api|examples|install)$' ;;
    asan) echo '^(unit|node|api|mpi|torture)$' ;;
    tsan) echo '^(unit|node)$' ;;
    fuzz) echo '^fuzz$' ;;
  esac
}

# run_ctest PRESET NAME ARGS...: leaves the results in build/log/ctest-NAME.xml.
run_ctest() {
  local preset=$1 name=$2 progress=()
  shift 2
  [ -z "$TTY" ] || progress=(--progress)
  env "DAMARIS_DEV_RUN=$RUN_MARK" ctest --test-dir "build/$preset" "${progress[@]}" -j "$(nproc)" --output-on-failure --no-tests=error \
    --output-junit "$LOG_DIR/ctest-$name.xml" "$@"
}

test_preset() {
  local why=''
  say "${BOLD}== $1${PLAIN}"
  [ "$1" != fuzz ] || why=$(why_no_fuzzing)
  if [ -n "$why" ]; then
    say "skipped fuzz: $why"
    return 0
  fi
  dev_build "$1" || return 1
  run_ctest "$1" "$1" -L "$(labels_of "$1")" -LE '^lint$'
}

# The cheap gate: needs no build.
test_lint() {
  say "${BOLD}== lint${PLAIN}"
  configure dev && run_ctest dev lint -L '^lint$'
}

# What a run left behind: processes with its mark, and new regions that no living process of others maps.
# Both get some time: a detached server notices the end of its last client a little later.
SHM_DIR=/dev/shm
leftovers() {
  local region
  grep -lzsx "DAMARIS_DEV_RUN=$RUN_MARK" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
  done
  for region in "$SHM_DIR"/damaris*; do
    [ -e "$region" ] || continue
    case $REGIONS_BEFORE in *"|$region|"*) continue ;; esac
    grep -qs "$region" /proc/[0-9]*/maps || echo "region $region"
  done
}

nothing_left() {
  local left
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(leftovers)
    [ -n "$left" ] || return 0
    sleep 0.5
  done
  say "${RED}left behind by the tests:${PLAIN}"
  say "$left"
  return 1
}

# choose_tests LABEL|NAME: sets CHOSEN, ctest's options for a label, otherwise for a part of test names. A configured tree knows its
# tests, so a wrong name is reported before anything is built.
choose_tests() {
  local tree=build/$PRESET labels
  labels=$(ctest --test-dir "$tree" --print-labels | sed -n 's/^  //p')
  CHOSEN=(-R "$1")
  if grep -qx -- "$1" <<<"$labels"; then CHOSEN=(-L "^$1\$"); fi
  ctest --test-dir "$tree" -N "${CHOSEN[@]}" | grep -q '^Total Tests: [1-9]' ||
    fail "no test of preset $PRESET has '$1' as its label or in its name; labels: $(xargs <<<"$labels")"
}

# If a tree was configured before a test was added, configuring it again adds the test.
test_selection() {
  configure "$PRESET" || return 1
  (choose_tests "$1") >/dev/null 2>&1 || quietly "configure $PRESET" cmake --preset "$PRESET" || return 1
  choose_tests "$1"
  dev_build "$PRESET" || return 1
  run_ctest "$PRESET" "$PRESET" "${CHOSEN[@]}"
}

dev_lint() {
  setup_for_use
  scripts/lint "$@"
}

dev_test() {
  local rc=0 start=$SECONDS preset
  RUN_MARK=$$.$RANDOM.$(date +%s)
  REGIONS_BEFORE="|$(printf '%s|' "$SHM_DIR"/damaris*)"
  dev_setup
  rm -f "$LOG_DIR"/ctest-*.xml
  if [ "${1:-}" = fuzz ]; then
    test_preset fuzz || rc=1
  elif [ $# -gt 0 ]; then
    test_selection "$1" || rc=1
  else
    test_lint || rc=1
    for preset in dev mpich serial asan tsan fuzz; do test_preset "$preset" || rc=1; done
  fi
  nothing_left || rc=1
  "$PYTHON" scripts/summarise-tests "$((SECONDS - start))" "$rc" "$LOG_DIR"/ctest-*.xml
}
