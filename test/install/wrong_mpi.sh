#!/usr/bin/env bash
# wrong_mpi.sh HERE PREFIX FLAVOUR: a program that brings the other MPI is refused when it is configured, when it is compiled, and when
# it starts all the same.
set -eu
here=$1 prefix=$2 flavour=$3
other=openmpi
[ "$flavour" != openmpi ] || other=mpich
for tool in mpicc mpifort; do
  command -v "$tool.$other" >/dev/null || { echo "SKIP: $tool.$other is not installed"; exit 77; }
done
unset LD_LIBRARY_PATH
export PATH="$prefix/bin:/usr/bin:/bin" PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rm -rf work && mkdir work && cd work

# expect WHAT TEXT COMMAND...: the command fails and says TEXT.
expect() {
  local what=$1 text=$2 said
  shift 2
  if said=$("$@" 2>&1); then echo "$what: not refused: $said"; exit 1; fi
  grep -qF -- "$text" <<<"$(tr -s ' \n' ' ' <<<"$said")" || { echo "$what: refused otherwise: $said"; exit 1; }
}
configure() {
  cmake -G Ninja -S "$1" -B "build $1" "-DCMAKE_PREFIX_PATH=$prefix" "-DMPI_C_COMPILER=mpicc.$other" "-DMPI_Fortran_COMPILER=mpifort.$other"
}

for language in C Fortran; do
  mkdir "$language"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' "project(outside LANGUAGES $language)" \
    'find_package(MPI REQUIRED)' 'find_package(damaris REQUIRED COMPONENTS mpi)' >"$language/CMakeLists.txt"
  expect "find_package in $language" "this Damaris was built with $flavour" configure "$language"
done

# shellcheck disable=SC2154
eval "cflags=($(pkg-config --cflags damaris-mpi)) libs=($(pkg-config --libs damaris-mpi))"
# shellcheck disable=SC2154
expect "the header" "compile with mpicc.$flavour" "mpicc.$other" "${cflags[@]}" -c "$here/mpi/main.c" -o main.o

# Without the header, as a library between may do.
cat >around.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
int dc_mpi_initialize(const char* config, MPI_Comm world, MPI_Comm* clients, int* is_client);
const char* dc_last_error(void);
int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  int code = dc_mpi_initialize("run.xml", MPI_COMM_WORLD, &clients, &is_client);
  if (code < 0) printf("%d: %s\n", code, dc_last_error());
  MPI_Finalize();
  return code < 0;
}
EOF
cp "$here/mpi/run.xml" .
# shellcheck disable=SC2154
"mpicc.$other" around.c -o around "${libs[@]}"
expect "the start" "-205: the program runs with" ./around

if [ -e "$PKG_CONFIG_PATH/damaris-fortran-mpi.pc" ]; then
  eval "flags=($(pkg-config --cflags --libs damaris-fortran-mpi))"
  cp "$here/fortran_mpi/main.f90" "$here/fortran_mpi/run.xml" .
  # shellcheck disable=SC2154
  "mpifort.$other" main.f90 -o fortran "${flags[@]}"
  expect "the start in Fortran" "the program runs with" ./fortran
fi
echo "refused each time"
