"""Holds a program where a test wants it, so that no test has to be faster than a program.

Python imports this module in each of its processes that has this folder on the path: the programs,
and all that is Python of the tests' Ray or of a rehearsed pod. One that is about to complete a
folder of the kind that a test names waits while the test looks, or ends it.
"""

import contextlib
import os
import pathlib
import time


def hold(seal, at: pathlib.Path):
    """Returns what `seal` does, held before folders that match the pattern in the file `at`."""

    def held(folder, *args, **kwargs):
        pattern = ""
        # Most of the time nothing is to be held; and it may end while it is looked at.
        with contextlib.suppress(FileNotFoundError):
            pattern = at.read_text()
        if pattern and folder.match(pattern):
            # By renaming, so that a reader finds the whole number.
            said = at.with_name(f"pid.{os.getpid()}")
            said.write_text(str(os.getpid()))
            said.rename(at.with_name("pid"))
            while at.exists():
                time.sleep(0.01)
        return seal(folder, *args, **kwargs)

    return held


if "TESTED_HOLD" in os.environ:
    from raylib import sealed

    sealed.seal = hold(sealed.seal, pathlib.Path(os.environ["TESTED_HOLD"]))
