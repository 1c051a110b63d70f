# shellcheck shell=bash
# Puts the built tree on the search paths: programs, libraries, plugins. Sourced by ./dev; needs ROOT and CALLER_DIR.

PRESET=${DAMARIS_PRESET:-dev}
PYTHON=$ROOT/.venv/bin/python

# The MPI flavour that a preset was configured with: openmpi, mpich or OFF.
flavour_of() { sed -n 's/^DAMARIS_MPI:[A-Z]*=//p' "$ROOT/build/$1/CMakeCache.txt"; }

# Makes mpirun and mpicc refer to the preset's flavour, whatever the system's default is.
link_flavour() {
  local links=$1/flavour tool
  mkdir -p "$links"
  for tool in mpirun mpiexec mpicc mpicxx mpifort; do
    ln -sfn "$(command -v "$tool.$2")" "$links/$tool"
  done
  # MPICH's launcher looks for its proxy beside itself.
  [ "$2" != mpich ] || ln -sfn "$(command -v hydra_pmi_proxy)" "$links/hydra_pmi_proxy"
  export PATH=$links:$PATH
}

use_built_tree() {
  local build=$ROOT/build/$PRESET flavour
  [ -f "$build/build.ninja" ] || fail "preset $PRESET is not built; run: ./dev build $PRESET"
  flavour=$(flavour_of "$PRESET")
  [ "$flavour" = OFF ] || link_flavour "$build" "$flavour"
  export PATH=$build/bin:$ROOT/.venv/bin:$PATH
  export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export DAMARIS_PLUGIN_PATH=$build/lib/damaris/plugins${DAMARIS_PLUGIN_PATH:+:$DAMARIS_PLUGIN_PATH}
  export PYTHONPATH=$build/lib/damaris/python${PYTHONPATH:+:$PYTHONPATH}
  export DAMARIS_BUILD_DIR=$build DAMARIS_SOURCE_DIR=$ROOT DAMARIS_MPI_FLAVOUR=$flavour
  [ ! -x "$PYTHON" ] || export DAMARIS_PYTHON=$PYTHON # else python3, which says what it lacks
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
}

dev_run() {
  [ $# -gt 0 ] || fail "run: specify a command, for example: ./dev run mpirun -n 3 PROGRAM"
  use_built_tree
  cd "$CALLER_DIR" || exit 1
  [ -n "$(command -v -- "$1")" ] || fail "run: no command '$1' in this folder, among the built programs, or on PATH; ./dev build builds all programs"
  exec "$@"
}

dev_bench() {
  case ${1:-},${2:-} in
    all,--help | all,-h) exec python3 bench/all/bench_all.py --help ;; # needs nothing
    all,* | cm1,* | phases,* | record,* | query,* | replay,* | view,* | compression,* | write,* | queue,* | persist,* | reduce,* | slots,* | never-stops,* | -*,*) ;;
    *) fail "bench: name a benchmark${1:+, not $1}: write queue persist reduce slots never-stops phases cm1 compression record query replay view all; or --quick" ;;
  esac
  setup_for_use
  case ${1:-} in phases | record | query | all) setup_bench_python ;; esac
  case ${1:-} in record | query | replay | view | all) setup_trace_python ;; esac
  case ${1:-} in view | all) setup_test_python ;; esac
  dev_build "$PRESET"
  use_built_tree
  cd "$CALLER_DIR" || exit 1
  case ${1:-} in
    all | cm1 | phases | record | query | replay | view) exec "$PYTHON" "$ROOT/bench/$1/bench_$1.py" "${@:2}" ;;
    compression) exec "$PYTHON" "$ROOT/bench/cm1/bench_compression.py" "${@:2}" ;;
    -*) exec "$PYTHON" "$ROOT/bench/guard/guard.py" "$@" ;; # no benchmark's name: the guard
    *) exec damaris-bench "$@" ;;
  esac
}

dev_torture() { run_campaign torture "$@"; }
dev_soak() { run_campaign soak "$@"; }

# It builds its own copy of the tree.
dev_mutate() {
  case ${1:-} in
    --help | -h) exec python3 test/mutate/mutate.py --help ;;
  esac
  dev_setup
  exec "$PYTHON" test/mutate/mutate.py "$@"
}

# run_campaign NAME ARGS...: the program test/NAME/NAME.py, with what the target NAME builds. Its help needs nothing.
run_campaign() {
  local name=$1
  shift
  case ${1:-} in
    --help | -h) exec python3 "test/$name/$name.py" --help ;;
  esac
  setup_for_use
  dev_build "$PRESET" "$name"
  use_built_tree
  "$PYTHON" "test/$name/$name.py" "$@"
}

dev_demo() {
  setup_for_use
  dev_build "$PRESET" demo
  use_built_tree
  "$PYTHON" examples/cm1/demo.py "$@"
}
