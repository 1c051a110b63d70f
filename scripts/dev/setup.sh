# shellcheck shell=bash
# Installs the Debian packages of scripts/packages.txt and the Python environment in .venv. Sourced by ./dev; needs ROOT.

wanted_packages() { grep -v '^#' "$ROOT/scripts/packages.txt" | tr '\n' ' '; }

missing_packages() {
  local package
  for package in $(wanted_packages); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
  done
}

install_packages() {
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo -n)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

setup_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    fail "this is not Debian; install what these Debian 12 packages contain, then use ./dev build: $(wanted_packages)"
  fi
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    say "packages are missing, and installing them needs root. Run this, then ./dev again:"
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
    exit 1
  fi
  say "installing: $missing"
  # shellcheck disable=SC2086
  quietly packages install_packages $missing || exit 1
}

make_environment() {
  rm -rf "$ROOT/.venv"
  /usr/bin/python3 -m venv "$ROOT/.venv"
  "$ROOT/.venv/bin/python" -m pip install --disable-pip-version-check --no-input -r "$ROOT/requirements.txt"
}

# The stamp contains the requirements and the path, because an environment cannot be moved.
setup_python() {
  local stamp=$ROOT/.venv/stamp want
  want=$(printf '%s\n' "$ROOT" && cat "$ROOT/requirements.txt")
  [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
  quietly python make_environment || exit 1
  printf '%s\n' "$want" >"$stamp"
}

# The tests' own packages, in the same environment; recreating that removes their stamp too.
setup_test_python() {
  local stamp=$ROOT/.venv/stamp-test want
  want=$(cat "$ROOT/requirements-test.txt")
  [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
  quietly python "$ROOT/.venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps \
    -r "$ROOT/requirements-test.txt" || exit 1
  printf '%s\n' "$want" >"$stamp"
}

# What the verbs in Python read recordings with, in the same environment.
setup_trace_python() {
  local stamp=$ROOT/.venv/stamp-trace want
  want=$(cat "$ROOT/requirements-trace.txt")
  [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
  quietly "python for recordings" "$ROOT/.venv/bin/python" -m pip install --disable-pip-version-check --no-input \
    -r "$ROOT/requirements-trace.txt" || exit 1
  printf '%s\n' "$want" >"$stamp"
}

# What benchmarks compare with, in the same environment, without what else these packages name. If it cannot be installed, ./dev continues without it and does not retry at each start.
setup_bench_python() {
  local stamp=$ROOT/.venv/stamp-bench want
  want=$(cat "$ROOT/requirements-bench.txt")
  [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
  quietly "python for bench" "$ROOT/.venv/bin/python" -m pip install --disable-pip-version-check --no-input --retries 1 --no-deps \
    -r "$ROOT/requirements-bench.txt" ||
    say "continuing without $(grep -v '^#' "$ROOT/requirements-bench.txt" | xargs): the benchmarks omit them; to try again: rm .venv/stamp-bench"
  printf '%s\n' "$want" >"$stamp"
}

setup_for_use() {
  setup_packages
  setup_python
}

dev_setup() {
  setup_for_use
  setup_test_python
  setup_trace_python
  setup_bench_python
}
