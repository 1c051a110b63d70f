#!/usr/bin/env bash
# build_and_run.sh CONSUMER WAY PREFIX FLAVOUR MPI_RUN: builds a copy of an outside project with the CMake package or with
# pkg-config, against the tree in PREFIX and nothing else of this project, and runs it.
set -eu
consumer=$1 way=$2 prefix=$3 flavour=$4 mpi_run=$5
rm -rf "outside project"
cp -r "$consumer" "outside project"
cd "outside project"
unset DAMARIS_PLUGIN_PATH DAMARIS_SOURCE_DIR DAMARIS_BUILD_DIR LD_LIBRARY_PATH
export PATH="$prefix/bin:/usr/bin:/bin"

build_cmake() {
  cmake -G Ninja -S . -B build "-DCMAKE_PREFIX_PATH=$prefix" >configure.log 2>&1 || { cat configure.log; exit 1; }
  cmake --build build
}

build_pkgconfig() {
  local compiler
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  # shellcheck source=/dev/null
  . ./pkgconfig.sh "$flavour" # sets: compiler, source, output, packages
  mkdir -p build
  # pkg-config quotes its answer for a shell.
  # shellcheck disable=SC2154
  eval "$compiler -Wall -Wextra -Werror -g '$source' -o 'build/$output' $(pkg-config --cflags --libs "$packages")"
}

"build_$way"
# shellcheck source=/dev/null
. ./run.sh
