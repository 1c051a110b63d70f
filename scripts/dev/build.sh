# shellcheck shell=bash
# Configuring, building, installing, cleaning. Read by ./dev; needs ROOT and CALLER_DIR.

configure() {
  local preset=$1 cache=$ROOT/build/$1/CMakeCache.txt
  if [ -f "$ROOT/build/$preset/build.ninja" ] && [ "$cache" -nt "$ROOT/CMakePresets.json" ]; then return 0; fi
  quietly "configure $preset" cmake --preset "$preset" "${@:2}" || return 1
  touch "$cache"
}

# dev_build [PRESET [TARGET]]
dev_build() {
  local preset=${1:-$PRESET}
  configure "$preset" || return 1
  quietly "build $preset${2:+ $2}" cmake --build "build/$preset" ${2:+--target "$2"} -- -k 5
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
