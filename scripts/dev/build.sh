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

dev_install() {
  [ $# = 1 ] || fail "install: give one folder: ./dev install PREFIX"
  local prefix
  prefix=$(cd "$CALLER_DIR" && realpath -m -- "$1")
  dev_setup
  dev_build release
  quietly install cmake --install build/release --prefix "$prefix"
  say "installed into $prefix"
  say "  programs      export PATH='$prefix/bin':\"\$PATH\""
  say "  CMake         -DCMAKE_PREFIX_PATH='$prefix'"
  say "  pkg-config    export PKG_CONFIG_PATH='$(dirname "$(find "$prefix" -name damaris.pc | head -n 1)")'"
}

dev_clean() {
  rm -rf "$ROOT/build"
  say "removed build/ (.venv stays: it is not built from the sources)"
}
