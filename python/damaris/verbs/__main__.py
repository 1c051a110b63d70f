"""See damaris.verbs."""

import sys

from damaris.verbs import run

run(sys.argv[1], sys.argv[2:])
