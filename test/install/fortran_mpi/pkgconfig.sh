# shellcheck shell=bash disable=SC2034
# $1: the MPI flavour. Read by build_and_run.sh.
compiler="mpifort.$1" source=main.f90 output=outside packages="damaris-fortran-mpi"
