#!/usr/bin/env bash
# page.sh: for scripts that follow a page of the installed documents: block, and mpicc and mpirun of the build's flavour, with all warnings as
# errors. Set prefix, flavour, mpi_run and page; leaves one in a new folder, with the installed tree alone in its environment.
# shellcheck disable=SC2154
rm -rf work && mkdir -p work/bin && cd work || exit 1
# block LANGUAGE WORD: the first block of that language with the word in it.
block() {
  python3 - "$page" "$1" "$2" <<'PYTHON'
import re
import sys

blocks = re.findall(rf"^```{sys.argv[2]}\n(.*?)^```$", open(sys.argv[1]).read(), re.M | re.S)
print(next(text for text in blocks if sys.argv[3] in text), end="")
PYTHON
}
# follow WORD [RANKS]: runs the commands of the block with the word in it. Paths with a space are quoted by pkg-config for a shell, so eval reads them.
follow() {
  block sh "$1" | sed 's/^mpicc .*$/eval "&"/' >commands
  [ -z "${2-}" ] || sed -i "s/mpirun -n [0-9]*/mpirun -n $2/" commands
  bash -eu commands >out 2>err || { cat commands out err; exit 1; }
}
# shellcheck disable=SC2154
printf '#!/bin/sh\nexec mpicc.%s -Wall -Wextra -Werror "$@"\n' "$flavour" >bin/mpicc
# shellcheck disable=SC2154
printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$mpi_run" "$flavour" >bin/mpirun
chmod +x bin/mpicc bin/mpirun
unset DAMARIS_PLUGIN_PATH DAMARIS_SOURCE_DIR DAMARIS_BUILD_DIR LD_LIBRARY_PATH DAMARIS_LOG
# shellcheck disable=SC2154
export PATH="$PWD/bin:$prefix/bin:/usr/bin:/bin" PKG_CONFIG_PATH=$prefix/lib/pkgconfig
