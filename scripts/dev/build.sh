# shellcheck shell=bash
# Configuring, building, installing, cleaning. Read by ./dev; needs ROOT and CALLER_DIR.

configure() {
  local preset=$1 cache=$ROOT/build/$1/CMakeCache.txt
  if [ -f "$ROOT/build/$preset/build.ninja" ] && [ "$cache" -nt "$ROOT/CMakePresets.json" ]; then return 0; fi
  quietly "configure $preset" cmake --preset "$preset" "${@:2}" || return 1
  touch "$cache"
}

# How many compilers at once: one more than there are cores, but each with 1 GB of memory, which instrumented files need.
MEMINFO=/proc/meminfo
build_jobs() {
  local by_cores by_memory
  by_cores=$(($(nproc) + 1))
  by_memory=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' "$MEMINFO") / 1000000))
  echo $((by_memory < 1 ? 1 : by_memory < by_cores ? by_memory : by_cores))
}

# dev_build [PRESET [TARGET]]
dev_build() {
  local preset=${1:-$PRESET}
  configure "$preset" || return 1
  quietly "build $preset${2:+ $2}" cmake --build "build/$preset" ${2:+--target "$2"} -j "$(build_jobs)" -- -k 5
}

# The preset to install for DAMARIS_PRESET.
install_preset() {
  case $PRESET in
    dev | release) echo release ;;
    mpich | serial) echo "release-$PRESET" ;;
    release-mpich | release-serial) echo "$PRESET" ;;
    *) fail "install: DAMARIS_PRESET=$PRESET cannot be installed; use mpich or serial, or unset it for OpenMPI" ;;
  esac
}

dev_install() {
  local prefix preset
  [ $# = 1 ] || fail "install: specify one folder: ./dev install PREFIX"
  case $1 in -*) fail "install: '$1' is not a folder: ./dev install PREFIX" ;; esac
  preset=$(install_preset)
  prefix=$(cd "$CALLER_DIR" && realpath -m -- "$1")
  setup_for_use
  dev_build "$preset" installed
  quietly install cmake --install "build/$preset" --prefix "$prefix"
  say "installed into $prefix"
  say "  programs      export PATH='$prefix/bin':\"\$PATH\""
  say "  CMake         -DCMAKE_PREFIX_PATH='$prefix'"
  say "  pkg-config    export PKG_CONFIG_PATH='$(dirname "$(find "$prefix" -name damaris.pc | head -n 1)")'"
}

dev_clean() {
  rm -rf "$ROOT/build"
  say "removed build/ (but not .venv, which is not built from the sources)"
}
