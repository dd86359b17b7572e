"""The replica of serve_llm. Needs Ray Serve; the engine's packages on the replica."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import time
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from raylib import adapters, batch, engines, inputs, log, sealed, serving
from raylib.run import Run

# What the answer does not depend on, or may only have the value that it has anyway.
_FIXED = {"temperature": (0, None), "top_p": (1, None), "n": (1, None), "stream": (False, None)}
_KNOWN = {"model", "messages", "max_tokens", "max_completion_tokens", "seed", "user", *_FIXED}

# A conversation, the longest answer, and who waits for it.
_Entry = tuple[tuple[Any, ...], int, "asyncio.Future[engines.Answer]"]


class Chat(serving.Endpoints):
    """Holds an engine with its adapter and answers conversations, several at once."""

    def __init__(self, settings: Any, run: Run, base: str = "") -> None:
        """Loads the model, that of the digest `base` if one is given.

        Raises InputError if something is missing or does not fit.
        """
        super().__init__(settings.token)
        log.bind(program="serve_llm", run=run.id)
        self._settings = settings
        scratch = pathlib.Path(settings.scratch)
        model, found = parts(settings, run, base)
        local = inputs.local(found.sealed, scratch) if found else None
        self._engine = engines.make(settings, inputs.local(model, scratch), local)
        self._name = settings.model_id or pathlib.PurePath(settings.base).name
        self._adapter = {
            "run": found.run if found else None,
            "digest": found.digest if found else adapters.NONE,
        }
        self._gate = serving.Gate(settings.max_waiting)
        self._queue: list[_Entry] = []
        self._open = {("GET", "/health"): self._health}
        self._closed = {
            ("GET", "/v1/models"): self._models,
            ("POST", "/v1/chat/completions"): self._complete,
        }
        log.event("ready", model=self._name, adapter=self._adapter)

    async def _health(self, request: Request) -> dict[str, Any]:
        return {
            "status": "ok",
            "model": self._name,
            "engine": self._settings.engine,
            "adapter": self._adapter,
        }

    async def _models(self, request: Request) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": self._name, "object": "model"}]}

    async def _complete(self, request: Request) -> dict[str, Any]:
        messages, most = self._asked(await serving.body_of(request))
        answer = await self._answer(messages, most)
        if answer.error:
            raise serving.Refused(400, answer.error)
        usage = {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.tokens,
            "total_tokens": answer.prompt_tokens + answer.tokens,
        }
        message = {"role": "assistant", "content": answer.text}
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._name,
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
            "usage": usage,
        }

    def _asked(self, body: Mapping[str, Any]) -> tuple[list[dict[str, str]], int]:
        """Returns the conversation and the longest answer. Raises Refused."""
        if extra := sorted(set(body) - _KNOWN):
            raise serving.Refused(400, f"not supported: {', '.join(extra)}")
        for name, allowed in _FIXED.items():
            if body.get(name) not in allowed:
                raise serving.Refused(400, f"{name} may only be {allowed[0]}")
        if body.get("model") != self._name:
            raise serving.Refused(404, f"there is no model {body.get('model')!r}; {self._name} is")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise serving.Refused(400, "messages must be a list that is not empty")
        for m in messages:
            if (
                not isinstance(m, dict)
                or m.get("role") not in ("system", "user", "assistant")
                or not isinstance(m.get("content"), str)
            ):
                raise serving.Refused(400, "each message must have a role and a text as content")
        return [{"role": m["role"], "content": m["content"]} for m in messages], self._most(body)

    def _most(self, body: Mapping[str, Any]) -> int:
        """Returns the longest answer that is asked for, in tokens. Raises Refused."""
        limit = self._settings.max_tokens
        given = (body.get("max_completion_tokens"), body.get("max_tokens"))
        most = next((g for g in given if g is not None), limit)
        if type(most) is not int or not 1 <= most <= limit:
            raise serving.Refused(400, f"max_tokens must be from 1 to {limit}")
        return most

    async def _answer(self, messages: list[dict[str, str]], most: int) -> engines.Answer:
        """Waits for the engine; whoever gets it first answers for those that wait too."""
        mine: asyncio.Future[engines.Answer] = asyncio.get_running_loop().create_future()
        entry = (tuple(messages), most, mine)
        self._queue.append(entry)
        try:
            await self._gate.run(self._batch)
        except BaseException:
            mine.cancel()
            with contextlib.suppress(ValueError):
                self._queue.remove(entry)
            raise
        return await mine

    def _batch(self) -> None:
        """Answers those that wait, as many as fit and want answers of the same length."""
        waiting = [e for e in self._queue if not e[2].done()]
        if not waiting:
            return
        most = waiting[0][1]
        some = [e for e in waiting if e[1] == most][: self._settings.batch_size]
        for entry in some:
            # Whoever waited for it may just have gone.
            with contextlib.suppress(ValueError):
                self._queue.remove(entry)
        try:
            made = self._engine.generate([list(e[0]) for e in some], most)
        except Exception as e:
            if len(some) == 1:
                _tell(some[0], e)
                return
            log.event("answers_one_by_one", requests=len(some), reason=f"{type(e).__name__}: {e}")
            for entry in some:
                self._alone(entry)
            return
        for entry, answer in zip(some, made, strict=True):
            _tell(entry, answer)

    def _alone(self, entry: _Entry) -> None:
        """Answers one of several that could not be answered together: one of them is to blame."""
        try:
            _tell(entry, self._engine.generate([list(entry[0])], entry[1])[0])
        except Exception as e:
            _tell(entry, e)


def _tell(entry: _Entry, result: engines.Answer | Exception) -> None:
    """Gives an answer, or why there is none, to the one that waits for it."""

    def tell() -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    future = entry[2]
    future.get_loop().call_soon_threadsafe(tell)


def parts(settings: Any, run: Run, base: str = "") -> tuple[sealed.Sealed, adapters.Adapter | None]:
    """Returns the base model and the adapter, or None for the base model alone.

    Raises InputError if one is missing, or the adapter was trained on another base model.
    """
    model = inputs.find(run.path(settings.base), "the base model", batch.BASE_BY, base)
    return model, batch.find_adapter(settings, run, settings.adapter, model.digest)


def application(settings: Any, run: Run) -> Any:
    """Returns the application that Ray Serve runs. Raises InputError if something is missing.

    What is the latest adapter is decided here, once: a replica that starts later has the same.
    """
    base, found = parts(settings, run)
    if found is not None:
        settings = dataclasses.replace(settings, adapter=found.digest)
    return serving.deployment(Chat, "llm", settings, run).bind(settings, run, base.digest)


def serve_until_stopped(settings: Any, run: Run) -> Mapping[str, Any]:
    """Serves at the root until it is stopped."""
    return serving.run_until_stopped(application(settings, run), "/", settings, run)
