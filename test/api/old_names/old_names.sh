#!/bin/bash
# Plugins of an earlier version compile, and the compiler gives the new name of each old one.
# Use: old_names.sh SOURCE_FOLDER BUILD_FOLDER C_COMPILER CXX_COMPILER
set -eu
here=$1/test/api/old_names include=(-I "$1/include" -I "$2/include")
fail() {
  echo "$1:"
  cat "$log"
  exit 1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

compile() { "$@" "${include[@]}" -Wall -fsyntax-only > "$log" 2>&1 || fail "$* fails"; }
old_plugin() {
  compile "$@" "$here/old_plugin.c"
  for name in dc_step_t urgent on_step; do
    grep -q "called $name" "$log" || fail "$* does not name $name"
  done
}
old_plugin "$3" -std=c99
old_plugin "$3" -std=c11
old_plugin "$4" -std=c++17 -x c++
compile "$3" "$here/designated.c"
[ "$(grep -c 'on_iteration is called on_step' "$log")" -ge 3 ] || fail "not each on_iteration is named"

if "$3" "${include[@]}" -DDC_WITHOUT_OLD_NAMES -fsyntax-only "$here/old_plugin.c" > "$log" 2>&1; then
  fail "on_iteration is there with DC_WITHOUT_OLD_NAMES"
fi
compile "$3" -Werror -pedantic -std=c99 -x c - < <(echo '#include <damaris/plugin.h>')
compile "$4" -Werror -std=c++17 -x c++ - < <(echo '#include <damaris/plugin.h>')
echo "old names: 3 of 3 compile, and are named"
