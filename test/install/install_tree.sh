#!/usr/bin/env bash
# install_tree.sh BUILD SOURCE PREFIX: installs, moves the tree to PREFIX, and looks for what must not or must be in it.
set -eu
build=$1 source=$2 prefix=$3
first=$(dirname "$prefix")/first
rm -rf "$first" "$prefix"
cmake --install "$build" --prefix "$first" >install.log
mv "$first" "$prefix"

if grep -rlF -e "$source" -e "$first" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h' --include='*.hpp'; then
  echo "these files name the source tree or the first prefix"
  exit 1
fi
for object in "$prefix"/bin/* "$prefix"/lib/*.so; do
  if readelf -d "$object" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -v "\[\$ORIGIN[^:]*\]"; then
    echo "$object: its search path is not relative to itself"
    exit 1
  fi
done
for program in "$prefix"/bin/damaris-*; do
  verb=${program##*/damaris-}
  grep -qxF ".B ${verb//-/\\-}" "$prefix/share/man/man1/damaris.1" || { echo "damaris(1) does not name the verb $verb"; exit 1; }
  [ -e "$prefix/share/man/man1/damaris-$verb.1" ] || { echo "not installed: damaris-$verb.1"; exit 1; }
done
documents=$prefix/share/doc/damaris
python3 "$source/test/install/links.py" "$documents" || exit 1
for file in bin/damaris bin/damaris-check bin/damaris-server lib/libdamaris.so lib/damaris/plugins/damaris_null.so \
  include/damaris/damaris.h include/damaris/damaris.hpp include/damaris/plugin.h include/damaris/version.h \
  bin/damaris-record bin/damaris-info lib/libdamaris_trace.so lib/damaris/functions.json lib/damaris/python/damaris/py.typed \
  share/damaris/damaris.xsd share/doc/damaris/README.md share/doc/damaris/examples/06_no_mpi/no_mpi.c \
  share/doc/damaris/src/plugins/null/null.c share/man/man1/damaris.1 lib/pkgconfig/damaris.pc lib/cmake/damaris/damaris-config.cmake; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
