#!/usr/bin/env bash
# client_library.sh PREFIX: what a program that only writes loads is small: libdamaris needs few libraries, and holds neither parser nor server.
set -eu
library=$1/lib/libdamaris.so.0
allowed='^(libdamaris|libfmt|libisal|libz|libstdc\+\+|libm|libgcc_s|libc|libpthread|libdl|librt|ld-linux-x86-64|linux-vdso)\.so'
budget=850000  # bytes without symbols; 800 kB when this was written

unset LD_LIBRARY_PATH
others=$(ldd "$library" | awk '{ n = split($1, part, "/"); print part[n] }' | grep -Ev "$allowed" || true)
[ -z "$others" ] || { echo "libdamaris loads more than it should: $others"; exit 1; }

foreign=$(nm -DC --defined-only "$library" | grep -E 'xercesc|damaris::config::|damaris::server::(Server|Ledger|Roster|PluginHost)::' || true)
[ -z "$foreign" ] || { echo "libdamaris holds code of the server:"; head -5 <<<"$foreign"; exit 1; }
# That the names are looked for rightly: the server's library has them.
nm -DC --defined-only "$1/lib/libdamaris_server.so.0" | grep -q 'damaris::server::Server::' || { echo "no server in libdamaris_server"; exit 1; }

strip -o stripped "$library"
bytes=$(stat -c %s stripped)
echo "libdamaris: $bytes bytes, $(ldd "$library" | wc -l) libraries"
[ "$bytes" -le "$budget" ] || { echo "that is more than $budget"; exit 1; }
