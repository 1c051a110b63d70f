#!/usr/bin/env bash
# search_path.sh FOLDER...: has no program or library there an empty part in its search path, which would be the working directory?
set -eu
offenders=$(find "$@" -type f -exec readelf -d {} + 2>/dev/null |
  awk '/^File:/ { file = $2 } /\((RUNPATH|RPATH)\)/ && /\[:|::|:\]|\[\]/ { print file ": " $0 }')
[ -z "$offenders" ] || { echo "a search path with an empty part: $offenders"; exit 1; }
