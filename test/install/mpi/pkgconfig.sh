# shellcheck shell=bash disable=SC2034
# $1: the MPI flavour. Read by build_and_run.sh.
compiler="mpicc.$1" source=main.c output=outside packages="damaris-mpi"
