# shellcheck shell=bash
# Runs tests: the gate, which every change passes, or everything; the cheap ones first. Sourced by ./dev; needs ROOT.

PRESETS_OF_GATE=(dev mpich serial asan tsan)

# The tests of a preset that `./dev test all` runs: all of dev; of the others each kind that their difference can break.
labels_of() {
  case $1 in
    dev) echo '.' ;;
    mpich) echo '^(gate|mpi|api|examples|cm1|install)$' ;;
    serial) echo '^(gate|unit|node|api|examples|install)$' ;;
    asan) echo '^(gate|unit|node|api|mpi|torture)$' ;;
    tsan) echo '^(gate|unit|node)$' ;;
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

# test_preset PRESET gate|all
test_preset() {
  local why=''
  say "${BOLD}== $1${PLAIN}"
  [ "$1" != fuzz ] || why=$(why_no_fuzzing)
  if [ -n "$why" ]; then
    say "skipped fuzz: $why"
    return 0
  fi
  case $2,$1 in
    all,* | gate,dev) dev_build "$1" || return 1 ;; # of dev everything is built, benchmarks and examples too
    gate,*) dev_build "$1" gate || return 1 ;;
  esac
  case $2 in
    all) run_ctest "$1" "$1" -L "$(labels_of "$1")" -LE '^lint$' ;;
    gate) run_ctest "$1" "$1" -L '^gate$' -LE '^lint$' ;;
  esac
}

# names_of PRESET ARGS...: of the tests that ctest selects.
names_of() { ctest --test-dir "build/$1" -N "${@:2}" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p'; }

# What `./dev test all` runs of a preset and the gate does not: names of tests.
only_in_all() {
  if [ "$1" = fuzz ]; then
    basename -s .cpp "$ROOT"/test/fuzz/*.cpp | sed 's/^/fuzz_/'
  else
    names_of "$1" -L "$(labels_of "$1")" -LE '^(lint|gate)$'
  fi
}

# By name in a file, those of dev on the screen too.
name_what_all_adds() {
  local preset names list=$LOG_DIR/only-in-all.txt
  : >"$list"
  say "./dev test all also runs (all names: ${list#"$ROOT/"}):"
  for preset in "${PRESETS_OF_GATE[@]}" fuzz; do
    names=$(only_in_all "$preset") || true # of a preset that could not be configured
    # shellcheck disable=SC2086
    printf "$preset: %s\n" $names >>"$list"
    printf '  %-7s %s tests%s\n' "$preset" "$(wc -w <<<"$names")" "$([ "$preset" != dev ] || printf ': %s' "$(xargs <<<"$names")")" | fold -s -w 100
  done
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

# choose_tests LABEL|NAME: sets CHOSEN, ctest's options for a label without its long tests, otherwise for a part of test names. A configured
# tree knows its tests, so a wrong name is reported before anything is built.
choose_tests() {
  local tree=build/$PRESET labels
  labels=$(ctest --test-dir "$tree" --print-labels | sed -n 's/^  //p')
  CHOSEN=(-R "$1")
  if grep -qx -- "$1" <<<"$labels"; then
    CHOSEN=(-L "^$1\$")
    [ "$1" = long ] || CHOSEN+=(-LE '^long$')
  fi
  ctest --test-dir "$tree" -N "${CHOSEN[@]}" | grep -q '^Total Tests: [1-9]' ||
    fail "no test of preset $PRESET has '$1' as its label or in its name; labels: $(xargs <<<"$labels")"
}

# If a tree was configured before a test was added, configuring it again adds the test.
test_selection() {
  configure "$PRESET" || return 1
  (choose_tests "$1") >/dev/null 2>&1 || quietly "configure $PRESET" cmake --preset "$PRESET" || return 1
  choose_tests "$1"
  dev_build "$PRESET" || return 1
  run_ctest "$PRESET" "$PRESET" "${CHOSEN[@]}" || return 1
  local left_out=''
  case ${CHOSEN[*]} in *-LE*) left_out=$(names_of "$PRESET" -L "^$1\$" -L '^long$' | xargs) ;; esac
  [ -z "$left_out" ] || say "long, left to ./dev test all or ./dev test NAME: $left_out"
}

dev_lint() {
  setup_for_use
  scripts/lint "$@"
}

dev_test() {
  local rc=0 start=$SECONDS preset which=${1:-}
  RUN_MARK=$$.$RANDOM.$(date +%s)
  REGIONS_BEFORE="|$(printf '%s|' "$SHM_DIR"/damaris*)"
  dev_setup
  rm -f "$LOG_DIR"/ctest-*.xml
  case $which in
    '')
      test_lint || rc=1
      for preset in "${PRESETS_OF_GATE[@]}"; do test_preset "$preset" gate || rc=1; done
      ;;
    all)
      test_lint || rc=1
      for preset in "${PRESETS_OF_GATE[@]}" fuzz; do test_preset "$preset" all || rc=1; done
      dev_build debug || rc=1 # each file alone: does it include what it uses?
      ;;
    fuzz) test_preset fuzz all || rc=1 ;;
    *) test_selection "$which" || rc=1 ;;
  esac
  nothing_left || rc=1
  [ -n "$which" ] || name_what_all_adds
  "$PYTHON" scripts/summarise-tests "$((SECONDS - start))" "$rc" "$LOG_DIR"/ctest-*.xml
}
