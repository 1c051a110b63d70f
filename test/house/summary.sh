#!/usr/bin/env bash
# The last line of ./dev test counts every preset, names what was skipped and why, and fails when something failed.
set -u
cat >ctest-dev.xml <<'END'
<testsuite><testcase name="good" status="run"/><testcase name="bad" status="fail"/>
<testcase name="absent" status="notrun"><system-out>SKIP: no root</system-out></testcase></testsuite>
END
cat >ctest-tsan.xml <<'END'
<testsuite><testcase name="good" status="run"/></testsuite>
END
summarise() { python3 "$DAMARIS_SOURCE_DIR/scripts/summarise-tests" "$@"; }
check() { "$@" || { echo "failed: $*"; exit 1; }; }

output=$(summarise 65 0 ctest-dev.xml ctest-tsan.xml) && { echo "a failed test must fail the whole"; exit 1; }
check grep -qx 'FAILED dev: bad' <<<"$output"
check grep -qx 'skipped dev: absent: no root' <<<"$output"
check grep -qx '2 passed, 1 failed, 1 skipped in 1 min 5 s: NOT all is well' <<<"$output"
output=$(summarise 1 0 ctest-tsan.xml) || { echo "one good test must pass"; exit 1; }
check grep -qx '1 passed, 0 failed, 0 skipped in 0 min 1 s: all is well' <<<"$output"
summarise 1 1 ctest-tsan.xml && { echo "a failed step must fail the whole"; exit 1; }
summarise 1 1 absent.xml | check grep -qx '0 passed, 0 failed, 0 skipped in 0 min 1 s: NOT all is well'
exit 0
