# shellcheck shell=bash disable=SC2034
# $1: the MPI flavour. Read by build_and_run.sh.
compiler="mpicxx.$1 -std=c++17" source=main.cpp output=outside packages="damaris-mpi"
