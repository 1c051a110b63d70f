# shellcheck shell=bash
# Read by build_and_run.sh.
DAMARIS_PLUGIN_PATH=$PWD/build ./build/outside
cat counted.txt
grep -qx 'count step 7: 1 datasets, first value 42' counted.txt
