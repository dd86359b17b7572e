"""How well answers match what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def function_of(text: str) -> str:
    """Returns the function's name of a meaning such as `inform(name[x])`, or nothing."""
    head, bracket, _ = text.strip().partition("(")
    return head.strip() if bracket else ""


def score(generated: str, expected: str) -> dict[str, bool]:
    """Tells whether an answer is what was expected, and whether at least its function is."""
    function = function_of(expected)
    return {
        "exact_match": generated.strip() == expected.strip(),
        "function_match": bool(function) and function_of(generated) == function,
    }


def totals(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Returns counts and shares over all rows; a row with an error matches nothing."""
    counts = {"rows": 0, "errors": 0, "exact_match": 0, "function_match": 0, "tokens": 0}
    for row in rows:
        counts["rows"] += 1
        counts["errors"] += bool(row["error"])
        counts["exact_match"] += bool(row["exact_match"])
        counts["function_match"] += bool(row["function_match"])
        counts["tokens"] += int(row["tokens"])
    shares = {
        f"{k}_share": counts[k] / max(counts["rows"], 1)
        for k in ("errors", "exact_match", "function_match")
    }
    return {**counts, **shares}
