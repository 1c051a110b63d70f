#!/usr/bin/env bash
# recipes.sh PREFIX FLAVOUR MPI_RUN PYTHON: the programs and commands of the installed docs/recipes.md, word for word.
set -eu
# shellcheck disable=SC2034
prefix=$1 flavour=$2 mpi_run=$3 python=$4 page=$1/share/doc/damaris/docs/recipes.md here=$(dirname "$0")
# shellcheck source=/dev/null
. "$here/page.sh"
# expect TEXT FILE
expect() { grep -qF -- "$1" "$2" || { echo "not said: $1"; cat out err; exit 1; }; }

block c MPI_Exscan >particles.c
block xml 'name="particles"' >particles.xml
follow "mpicc particles.c"
expect "(0): 0, 1, 100, 101, 102, 200, 201, 202, 203" out

block c DC_PLUGIN_EXPORT >maximum.c
sed -i 's/cores="1"/cores="2"/' particles.xml # so that there is another server to agree with
follow "maximum.c" 6
expect "step 2: maximum 301" err

block c kRows >grid.c
block xml rectilinear >grid.xml
follow "mpicc grid.c"
expect "double t(time, lat, lon)" out
block python xarray >read.py
"$python" read.py >out 2>err || { cat err; exit 1; }
expect "289. 289. 289." out
