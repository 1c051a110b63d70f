#!/usr/bin/env bash
# planted_offenders.sh RULE: copies the lint scripts into an empty tree, plants one violation, and expects lint to name it.
set -eu
rule=$1
tree=$PWD/tree
rm -rf "$tree"
mkdir -p "$tree"/{scripts,cmake,docs,include/damaris,src/{core/base,client,server,plugins/null},examples}
cp "$DAMARIS_SOURCE_DIR"/scripts/{lint,check-includes,check-references} "$tree/scripts/"
cp "$DAMARIS_SOURCE_DIR/.clang-format" "$tree/"
cp "$DAMARIS_SOURCE_DIR/cmake/version.h.in" "$tree/cmake/"
cd "$tree"

expected_status=1
plant() { printf '%b' "$2" >"$1"; }
# shellcheck disable=SC2016 # the planted script contains a variable
case $rule in
  format)                 plant src/client/a.cpp 'int  a( ){return 1;}\n'; want='src/client/a.cpp:1' ;;
  shell)                  plant scripts/bad '#!/bin/bash\ncd $1\n'; want='SC2086' ;;
  outside_header)         plant src/client/a.cpp '#include <mpi.h>\n'; want='src/client/a.cpp:1: <mpi.h> belongs in src/mpi' ;;
  unknown_library)        plant src/client/a.cpp '#include <zstd/zstd.h>\n'; want='belongs to a library that' ;;
  core_knows_nobody)      plant src/core/base/a.cpp '#include "client/a.hpp"\n'; want='src/core/base may include trace and include/damaris, not src/client' ;;
  client_knows_server)    plant src/client/a.cpp '#include "server/a.hpp"\n'; want='src/client may include codec, core/base' ;;
  plugin_knows_core)      plant src/plugins/null/a.cpp '#include "core/base/error.hpp"\n'; want='src/plugins/null may include no other room' ;;
  example_knows_core)     plant examples/a.c '#include "core/base/error.hpp"\n'; want='examples may include only include/damaris' ;;
  c99_header)             plant include/damaris/a.h 'inline auto f() { return 1; }\n'; want='a.h does not compile alone' ;;
  missing_include)        plant include/damaris/a.hpp 'inline std::string f() { return {}; }\n'; want='a.hpp does not compile alone' ;;
  unknown_rule)           plant docs/rules.md '# Rules\n\n## 1. First\n'; plant src/client/a.cpp '// Rule 1 of two: rule 1''9.\n'
                          want='src/client/a.cpp:1: there is no rule 1''9' ;;
  outside_document)       plant src/client/a.cpp '// See DES''IGN 4.\n'; want='src/client/a.cpp:1: names a document' ;;
  missing_file)           plant src/client/a.cpp '// Before it: gone.hpp.\n'; want='src/client/a.cpp:1: there is no gone.hpp' ;;
  missing_heading)        plant docs/a.md '# A\n\n[B](#b) and [A](a.md#a)\n'; want='docs/a.md:3: this page has no heading #b' ;;
  long_file)              seq -f '// %g' 501 >src/client/a.cpp
                          want='warning: src/client/a.cpp has 501 lines'; expected_status=0 ;;
  clean_tree)             plant src/client/a.cpp '#include <vector>\n\n#include "core/base/error.hpp"\n'
                          want='includes: ok'; expected_status=0 ;;
esac

status=0
output=$(scripts/lint 2>&1) || status=$?
printf '%s\n' "$output"
[ "$status" = "$expected_status" ] || { echo "lint ended with $status, expected $expected_status"; exit 1; }
grep -qF "$want" <<<"$output" || { echo "lint did not say: $want"; exit 1; }
