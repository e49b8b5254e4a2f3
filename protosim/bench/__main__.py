"""`python -m protosim.bench [--write] [--json]`."""

import sys

from protosim.bench import main

sys.exit(main(write="--write" in sys.argv[1:], json_="--json" in sys.argv[1:]))
