# shellcheck shell=bash disable=SC2154
# Read by build_and_run.sh.
mkdir -p out
output=$("$mpi_run" "$flavour" -n 3 ./build/outside)
echo "$output"
grep -q "stored with damaris by 2 clients" <<<"$output"
files=(out/outside.*.h5)
[ "${#files[@]}" = 3 ] || { echo "expected 3 files, found: ${files[*]}"; exit 1; }
h5dump -d /x "${files[1]}" | grep -q "110, 111, 112"
