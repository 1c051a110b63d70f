#!/bin/sh
# run.sh PROGRAM: a client under valgrind, of a detached server and in place; any leak or wrong access fails.
set -eu
command -v valgrind >/dev/null || { echo "SKIP: valgrind is not installed"; exit 77; }
for cores in 1 0; do
  cat >"leaks_$cores.xml" <<XML
<simulation name="leaks_$cores">
  <architecture><dedicated cores="$cores"/><clients count="1"/><buffer size="1MiB"/></architecture>
  <data>
    <parameter name="n" type="int" value="4"/>
    <layout name="row" type="int" dimensions="n"/>
    <variable name="line" layout="row"/>
  </data>
  <actions><event name="tick"/></actions>
</simulation>
XML
  valgrind -q --suppressions="$(dirname "$0")/dynamic_linker.supp" --leak-check=full --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=9 "$1" "leaks_$cores.xml"
  echo "dedicated cores $cores: no leak"
done
