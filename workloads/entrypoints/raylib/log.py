"""Structured logs: one JSON object a line on standard output, and progress with rate and ETA."""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Callable
from typing import Any

_context: dict[str, Any] = {}


def bind(**fields: Any) -> None:
    """Adds fields to every line that this process logs from now on."""
    _context.update(fields)


def event(name: str, /, **fields: Any) -> None:
    """Logs that something happened."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    line = {"time": now, "event": name, **_context, **fields}
    print(json.dumps(line, default=str), file=sys.stdout, flush=True)


class Progress:
    """Logs steps with their loss, the rate of items a second, and the time that is left.

    The same numbers are gauges in Ray's metrics where Ray runs: `run_step`, `run_loss`,
    `run_items_per_second`, `run_seconds_left`, tagged with the run.
    """

    def __init__(
        self,
        total: int,
        item: str,
        every: int = 1,
        run: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Counts up to `total` steps; `item` names what the rate counts, such as tokens."""
        self.total = total
        self.item = item
        self.every = max(1, every)
        self._run = run
        self._clock = clock
        self._start = clock()
        self._first: int | None = None
        self._items = 0
        self._gauges: dict[str, Any] | None = None

    def step(self, step: int, items: int = 0, **values: float) -> None:
        """Says that step number `step`, counted from 1, is done, with `items` handled in it."""
        if self._first is None:
            self._first = step - 1
        self._items += items
        if step % self.every and step != self.total:
            return
        seconds = max(self._clock() - self._start, 1e-9)
        done = step - self._first
        left = (self.total - step) * seconds / max(done, 1)
        rate = self._items / seconds
        rounded = {k: float(f"{v:.6g}") for k, v in values.items()}
        event(
            "progress",
            step=step,
            of=self.total,
            **rounded,
            **{f"{self.item}_per_second": round(rate, 2)},
            seconds_left=round(left, 1),
        )
        self._export(step=step, items_per_second=rate, seconds_left=left, **values)

    def _export(self, **values: float) -> None:
        if "ray" not in sys.modules:
            return
        import ray
        from ray.util import metrics

        if not ray.is_initialized():
            return
        if self._gauges is None:
            self._gauges = {}
        for name, value in values.items():
            if name not in self._gauges:
                self._gauges[name] = metrics.Gauge(f"run_{name}", tag_keys=("run",))
            self._gauges[name].set(value, tags={"run": self._run})
