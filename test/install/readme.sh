#!/usr/bin/env bash
# readme.sh PREFIX FLAVOUR MPI_RUN: the program, the XML and the commands of the installed README, word for word, with all warnings as errors.
set -eu
# shellcheck disable=SC2034
prefix=$1 flavour=$2 mpi_run=$3
page=$prefix/share/doc/damaris/README.md here=$(dirname "$0")
# shellcheck source=/dev/null
. "$here/page.sh"
block c main >simulation.c
block xml simulation >simulation.xml
follow "mpicc simulation.c"
for step in 0 1 2; do
  compgen -G "simulation.*.s0.i$step.h5" >/dev/null || { echo "step $step is not stored"; ls; exit 1; }
done
# The line that the README shows, but for figures of the machine.
shown=$(grep -m1 '^damaris: simulation' "$page" | sed 's/[0-9.]* KiB of files/SIZE/; s/[0-9]* %/IDLE/')
said=$(grep '^damaris: simulation' err | sed 's/[0-9.]* KiB of files/SIZE/; s/[0-9]* %/IDLE/')
[ "$said" = "$shown" ] || { printf 'the README shows\n%s\nand the run says\n%s\n' "$shown" "$said"; exit 1; }
# A start that fails is told once for all ranks.
mv simulation.xml elsewhere.xml
if mpirun -n 3 ./simulation 2>err; then echo "a run without its XML succeeds"; exit 1; fi
[ "$(grep -c "cannot read the configuration 'simulation.xml'" err)" = 1 ] || { echo "not told once:"; cat err; exit 1; }
