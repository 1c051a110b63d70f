# shellcheck shell=bash
# Hostile input: the fuzz targets of test/fuzz. Sourced by ./dev; needs ROOT, PYTHON.

# Prints why the fuzz targets cannot be built here, or nothing if they can.
why_no_fuzzing() {
  command -v clang++-14 >/dev/null || { echo "clang-14 is not installed; ./dev setup installs it"; return; }
  [ -e "$(clang++-14 -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" ] ||
    echo "libFuzzer is not installed; ./dev setup installs libclang-rt-14-dev"
}

dev_fuzz() {
  local why
  case ${1:-} in
    --help | -h) exec python3 scripts/fuzz build/fuzz --help ;;
  esac
  setup_packages
  why=$(why_no_fuzzing)
  [ -z "$why" ] || fail "fuzz: $why"
  dev_build fuzz || exit 1
  exec "$(command -v python3)" scripts/fuzz build/fuzz "$@"
}
