#!/usr/bin/env bash
# wrong_mpi.sh HERE PREFIX FLAVOUR: a program that brings the other MPI is refused when it is configured, and when it is compiled.
set -eu
here=$1 prefix=$2 flavour=$3
other=openmpi
[ "$flavour" != openmpi ] || other=mpich
for tool in mpicc mpifort; do
  command -v "$tool.$other" >/dev/null || { echo "SKIP: $tool.$other is not installed"; exit 77; }
done
unset LD_LIBRARY_PATH
export PATH="$prefix/bin:/usr/bin:/bin" PKG_CONFIG_PATH=$prefix/lib/pkgconfig
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
eval "cflags=($(pkg-config --cflags damaris-mpi))"
# shellcheck disable=SC2154
expect "the header" "compile with mpicc.$flavour" "mpicc.$other" "${cflags[@]}" -c "$here/mpi/main.c" -o main.o

echo "refused each time"
