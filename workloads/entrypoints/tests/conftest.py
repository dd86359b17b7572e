"""Makes the programs importable by name, as they are beside one another in a pod."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

# Tests talk to this machine alone.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
