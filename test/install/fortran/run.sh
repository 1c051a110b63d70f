# shellcheck shell=bash
# Read by build_and_run.sh.
mkdir -p out
output=$(./build/outside)
echo "$output"
grep -q "stored with damaris" <<<"$output"
files=(out/outside.*.h5)
[ "${#files[@]}" = 3 ] || { echo "expected 3 files, found: ${files[*]}"; exit 1; }
h5dump -d /x/0 "${files[1]}" | grep -q "10, 11, 12"
