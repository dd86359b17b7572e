"""The work of batch_inference: who answers which shard, and what it adds up to. Needs Ray."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from raylib import adapters, cluster, engines, files, identity, inputs, log, scoring, shards
from raylib.errors import ClusterError, InputError, ResultError
from raylib.run import Run, attempt_id

ADAPTER_BY = "llm-training"
BASE_BY = "stage (STAGE_ITEMS=qwen)"
DATA_BY = "stage (STAGE_ITEMS=viggo)"


def answer(settings: Any, run: Run) -> Mapping[str, Any]:
    """Answers what is left of the rows, and scores all of them.

    The adapter and the inputs are those of when the run began: a later attempt goes on with them.
    """
    attempt = attempt_id()
    known = identity.Identity(run.folder(), attempt, settings.deciding())
    if done := known.finished():
        return {"already": True, **done}
    # What has been brought since the run began is not for it.
    began = known.pinned() or {}
    path = run.path(settings.base)
    base = inputs.find(path, "the base model", BASE_BY, began.get("base", ""))
    data = inputs.find(run.path(settings.data), "the data", DATA_BY, began.get("data", ""))
    wanted = began.get("adapter", settings.adapter)
    adapter = find_adapter(settings, run, wanted, base.digest)
    rows = shards.read_rows(data.path / settings.rows, settings.max_rows)
    made_from = {
        "base": base.digest,
        "data": data.digest,
        "adapter": adapter.digest if adapter else adapters.NONE,
        "row_count": len(rows),
    }
    known.pin(made_from)
    results = shards.Results(run.folder() / "shards", known.digest)
    plan = shards.plan(len(rows), settings.shard_rows)
    left = [s for s in plan if results.read(s) is None]
    log.event("plan", shards=len(plan), done=len(plan) - len(left), **made_from)
    if left:
        named = adapter.digest if adapter else ""
        crew = Crew(settings, run, base.digest, named)
        _answer_all(crew, settings, results, left, rows, attempt)
    summary = _finish(settings, run, results, plan, len(rows), attempt)
    known.finish({**summary, **made_from})
    return {**summary, **made_from}


def find_adapter(settings: Any, run: Run, wanted: str, base: str) -> adapters.Adapter | None:
    """Returns the adapter that is wanted, or None for the base model.

    Raises InputError if it is not there, or was trained on another base model.
    """
    if wanted == adapters.NONE:
        return None
    registry = adapters.Registry(run.path(settings.adapters), settings.task)
    found = registry.find(wanted, ADAPTER_BY)
    if found.about.get("base") != base:
        raise InputError(f"{found.path} was trained on another base model than {settings.base}")
    return found


class Worker:
    """An actor that holds an engine and answers shards."""

    def __init__(self, settings: Any, run: Run, base: str, adapter: str) -> None:
        """Loads nothing yet: an error of a constructor would look like the loss of the worker.

        `base` and `adapter` are digests; an empty one means the base model without an adapter.
        """
        log.bind(program="batch_inference", run=run.id)
        self._settings, self._run, self._base, self._adapter = settings, run, base, adapter

    @functools.cached_property
    def _engine(self) -> engines.Engine:
        """The engine, with model and adapter from copies on this node."""
        settings, scratch = self._settings, pathlib.Path(self._settings.scratch)
        path = self._run.path(settings.base)
        base = inputs.find(path, "the base model", BASE_BY, self._base)
        found = None
        if self._adapter:
            found = find_adapter(settings, self._run, self._adapter, base.digest)
        local = inputs.local(found.sealed, scratch) if found else None
        return engines.make(settings, inputs.local(base, scratch), local)

    def check(self, conversations: Sequence[Sequence[dict[str, str]]]) -> int:
        """Makes sure that the adapter does something; see engines.check_applied."""
        s = self._settings
        return engines.check_applied(self._engine, conversations, s.max_tokens, s.precision)

    def answer(
        self,
        results: shards.Results,
        shard: shards.Shard,
        rows: Sequence[Sequence[dict[str, str]]],
        attempt: str,
    ) -> int:
        """Answers the rows of a shard, writes them, and returns the number of tokens."""
        s, made = self._settings, []
        for i in range(0, len(rows), s.batch_size):
            some = rows[i : i + s.batch_size]
            answers = self._engine.generate([r[:-1] for r in some], s.max_tokens)
            for offset, (row, a) in enumerate(zip(some, answers, strict=True)):
                expected = row[-1]["content"]
                made.append(
                    {
                        "id": shard.first + i + offset,
                        "prompt": row[-2]["content"],
                        "expected": expected,
                        "generated": a.text,
                        "tokens": a.tokens,
                        "finish": a.finish,
                        "error": a.error,
                        **scoring.score(a.text, expected),
                    }
                )
        results.write(shard, attempt, made)
        return sum(r["tokens"] for r in made)


class Crew:
    """The workers of a batch. Those that are lost are replaced, so often as the settings allow."""

    def __init__(self, settings: Any, run: Run, base: str, adapter: str) -> None:
        """Waits for the cluster and starts nothing yet. Digests are as for a worker."""
        cluster.connect()
        import ray

        gpu = settings.device == "cuda"
        cluster.wait_for({"GPU" if gpu else "CPU": run.workers}, settings.cluster_timeout_seconds)
        actor = ray.remote(num_cpus=0 if gpu else 1, num_gpus=1 if gpu else 0)(Worker)
        self.start = lambda: actor.remote(settings, run, base, adapter)
        self.run, self.size, self.adapted = run.id, run.workers, bool(adapter)
        self._allowed, self._failures = settings.max_failures, 0

    def replace(self, worker: Any) -> Any:
        """Starts a worker in the place of one that was lost, or that cannot be reached."""
        import ray

        ray.kill(worker)
        return self.start()

    def result(self, reference: Any) -> Any:
        """Returns what a worker answers, or None if the worker was lost and may be replaced.

        Raises the ProgramError of a worker, and ClusterError if workers are lost too often.
        """
        from ray.exceptions import RayActorError

        try:
            return cluster.get(reference)
        except RayActorError as e:
            self._failures += 1
            reason = str(e).splitlines()[0]
            log.event("worker_lost", failures=self._failures, reason=reason)
            if self._failures > self._allowed:
                raise ClusterError(f"workers were lost {self._failures} times: {reason}") from e
            return None


def _check(crew: Crew, worker: Any, rows: Sequence[Sequence[dict[str, str]]], many: int) -> Any:
    """Makes sure that the adapter does something on the first `many` rows that can be answered.

    Returns the worker, or the one in its place if it was lost.
    """
    for i in range(0, len(rows), many):
        prompts = [r[:-1] for r in rows[i : i + many]]
        while (changed := crew.result(worker.check.remote(prompts))) is None:
            worker = crew.replace(worker)
        if changed:
            log.event("adapter_applied", changed=changed, of=len(prompts))
            break
    return worker


def _answer_all(
    crew: Crew,
    settings: Any,
    results: shards.Results,
    left: list[shards.Shard],
    rows: list[list[dict[str, str]]],
    attempt: str,
) -> None:
    """Makes sure that the adapter does something, and gives shards to workers, one at a time."""
    import ray

    idle = [crew.start() for _ in range(min(crew.size, len(left)))]
    if crew.adapted and settings.canary_rows:
        idle[0] = _check(crew, idle[0], rows, settings.canary_rows)
    progress = log.Progress(len(left), "tokens", 1, crew.run)
    waiting, running, done = list(left), {}, 0
    while waiting or running:
        while waiting and idle:
            worker, shard = idle.pop(), waiting.pop(0)
            piece = rows[shard.first : shard.end]
            running[worker.answer.remote(results, shard, piece, attempt)] = (worker, shard)
        ready, _ = ray.wait(list(running), num_returns=1)
        worker, shard = running.pop(ready[0])
        tokens = crew.result(ready[0])
        if tokens is None:
            idle.append(crew.replace(worker))
            # Its folder of this attempt may be there, half-written.
            attempt = attempt_id()
            waiting.insert(0, shard)
            continue
        done += 1
        progress.step(done, tokens)
        idle.append(worker)


def _finish(
    settings: Any,
    run: Run,
    results: shards.Results,
    plan: list[shards.Shard],
    rows: int,
    attempt: str,
) -> dict[str, Any]:
    """Puts the shards together. Raises ResultError if they are not what was asked for."""
    everything: list[dict[str, Any]] = []
    for shard in plan:
        everything.extend(results.read(shard) or [])
    ids = [r["id"] for r in everything]
    if ids != list(range(rows)):
        raise ResultError(f"{len(set(ids))} of {rows} rows have an answer")
    totals = scoring.totals(everything)
    name = f"predictions.{attempt}.jsonl"
    text = "".join(json.dumps(r, sort_keys=True) + "\n" for r in everything)
    files.write(run.folder() / name, text.encode())
    files.write_json(run.folder() / f"metrics.{attempt}.json", totals)
    if totals["errors_share"] > settings.max_error_rate:
        raise ResultError(
            f"{totals['errors']} of {rows} rows have errors; BATCH_MAX_ERROR_RATE allows a share "
            f"of {settings.max_error_rate:g}; see {run.folder() / name}"
        )
    return {**totals, "predictions": name}
