#!/usr/bin/env bash
# readme.sh PREFIX FLAVOUR MPI_RUN: the program, the XML and the commands of the installed README, word for word, with all warnings as errors.
set -eu
prefix=$1 flavour=$2 mpi_run=$3
readme=$prefix/share/doc/damaris/README.md
rm -rf work && mkdir -p work/bin && cd work
# block LANGUAGE WORD: the first block of that language with the word in it.
block() {
  python3 - "$readme" "$1" "$2" <<'PYTHON'
import re
import sys

blocks = re.findall(rf"^```{sys.argv[2]}\n(.*?)^```$", open(sys.argv[1]).read(), re.M | re.S)
print(next(text for text in blocks if sys.argv[3] in text), end="")
PYTHON
}
block c main >simulation.c
block xml simulation >simulation.xml
block sh "mpicc simulation.c" >commands
printf '#!/bin/sh\nexec mpicc.%s -Wall -Wextra -Werror "$@"\n' "$flavour" >bin/mpicc
printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$mpi_run" "$flavour" >bin/mpirun
chmod +x bin/mpicc bin/mpirun
unset DAMARIS_PLUGIN_PATH DAMARIS_SOURCE_DIR DAMARIS_BUILD_DIR LD_LIBRARY_PATH DAMARIS_LOG
export PATH="$PWD/bin:$prefix/bin:/usr/bin:/bin" PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# A path with a space, which pkg-config quotes for a shell, is no word of the README's command.
sed -i 's/^mpicc .*$/eval "&"/' commands
bash -eu commands >out 2>err || { cat out err; exit 1; }
for step in 0 1 2; do
  files=(simulation.*.s0.i$step.h5)
  [ -e "${files[0]}" ] || { echo "step $step is not stored"; ls; exit 1; }
done
# The line that the README shows, but for figures of the machine.
shown=$(grep -m1 '^damaris: simulation' "$readme" | sed 's/[0-9.]* KiB of files/SIZE/; s/[0-9]* %/IDLE/')
said=$(grep '^damaris: simulation' err | sed 's/[0-9.]* KiB of files/SIZE/; s/[0-9]* %/IDLE/')
[ "$said" = "$shown" ] || { printf 'the README shows\n%s\nand the run says\n%s\n' "$shown" "$said"; exit 1; }
# A start that fails is told once for all ranks.
mv simulation.xml elsewhere.xml
if mpirun -n 3 ./simulation 2>err; then echo "a run without its XML succeeds"; exit 1; fi
[ "$(grep -c "cannot read the configuration 'simulation.xml'" err)" = 1 ] || { echo "not told once:"; cat err; exit 1; }
