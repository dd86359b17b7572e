"""What the serving programs share: the token, answers, waiting, and running without a RayService.

Needs starlette, which Ray Serve brings.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from raylib import cluster, log
from raylib.errors import ClusterError
from raylib.run import Run
from raylib.shared import Service


class Refused(Exception):  # noqa: N818 - an answer, no defect
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        """Keeps the HTTP status beside the message."""
        super().__init__(message)
        self.status = status


def authorized(header: str | None, token: str) -> bool:
    """Tells whether an Authorization header shows the token; takes as long either way."""
    given = (header or "").encode("utf-8", "replace")
    return bool(token) and hmac.compare_digest(given, f"Bearer {token}".encode())


def path_of(request: Request) -> str:
    """Returns the path below the application's prefix, without a slash at its end."""
    path, root = request.scope["path"], request.scope.get("root_path", "")
    if root and path.startswith(root):
        path = path[len(root) :]
    return path.rstrip("/") or "/"


async def body_of(request: Request, limit: int = 1 << 20) -> dict[str, Any]:
    """Returns a JSON object that was sent. Raises Refused if it is none, or too large."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise Refused(413, f"the body has more than {limit} bytes")
    try:
        value = json.loads(bytes(data))
    except ValueError as e:
        raise Refused(400, f"the body is no JSON: {e}") from None
    if not isinstance(value, dict):
        raise Refused(400, "the body must be a JSON object")
    return value


class Gate:
    """Lets one computation run at a time and so many wait; the rest is refused at once."""

    def __init__(self, most: int) -> None:
        """At most `most` may wait."""
        self._most = most
        self._waiting = 0
        self._lock = asyncio.Lock()

    async def run(self, work: Callable[[], Any]) -> Any:
        """Runs blocking work in a thread. Raises Refused if too many wait.

        A caller may go while it runs; the next one begins only when it has ended all the same.
        """
        if self._lock.locked() and self._waiting >= self._most:
            raise Refused(503, f"{self._waiting} requests are waiting; try again later")
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        running = asyncio.create_task(asyncio.to_thread(work))
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)

    def _ended(self, running: asyncio.Task[Any]) -> None:
        self._lock.release()
        # If nobody waits for it any more, its error is not one that nobody looked at.
        if not running.cancelled():
            running.exception()


Handler = Callable[[Request], Any]


class Endpoints:
    """The base of a replica: open paths, paths that need the token, and errors as JSON."""

    def __init__(self, token: str) -> None:
        """Has no paths yet."""
        self._token = token
        self._open: dict[tuple[str, str], Handler] = {}
        self._closed: dict[tuple[str, str], Handler] = {}

    async def __call__(self, request: Request) -> JSONResponse:
        """Answers a request."""
        key = (request.method, path_of(request))
        try:
            if key in self._open:
                return JSONResponse(await self._open[key](request))
            # Nothing is said to a stranger, not even which paths there are.
            if not authorized(request.headers.get("authorization"), self._token):
                return error(
                    401, "a valid bearer token is required", {"WWW-Authenticate": "Bearer"}
                )
            if key not in self._closed:
                return error(404, f"there is no {key[0]} {key[1]}")
            return JSONResponse(await self._closed[key](request))
        except Refused as e:
            return error(e.status, str(e))
        except Exception as e:
            log.event("request_failed", path=key[1], reason=f"{type(e).__name__}: {e}")
            return error(500, "the request could not be answered")


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns an error in the form of OpenAI's API."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    # What a caller sent may be in it, and JSON can hold half a character.
    readable = message.encode("utf-8", "replace").decode()
    content = {"error": {"message": readable, "type": kind, "code": status}}
    return JSONResponse(content, status, dict(headers or {}))


def replicas(settings: Service, run: Run) -> int:
    """Returns how many replicas there are to be: one a worker, unless another number is set."""
    return settings.replicas or run.workers


def deployment(replica: type, name: str, settings: Service, run: Run) -> Any:
    """Returns the Serve deployment of a replica class, which is made with settings and run."""
    from ray import serve

    gpu = settings.device == "cuda"
    return serve.deployment(
        replica,
        name=name,
        num_replicas=replicas(settings, run),
        ray_actor_options={"num_gpus": 1} if gpu else {"num_cpus": 1},
        # Health is asked for beside the requests that wait.
        max_ongoing_requests=settings.max_waiting + 8,
        health_check_period_s=10,
        health_check_timeout_s=60,
        graceful_shutdown_timeout_s=30,
    )


def run_until_stopped(application: Any, prefix: str, settings: Service, run: Run) -> dict[str, Any]:
    """Serves an application on this cluster until SIGTERM or SIGINT, and ends Ray Serve.

    Raises ClusterError if Ray Serve runs already, since it would go on listening where it does, or
    if the replicas cannot be made.
    """
    cluster.connect()
    from ray import serve

    if (there := serve.status()).proxies or there.applications:
        raise ClusterError("Ray Serve runs on this cluster already; `serve shutdown` ends it")
    kind = "GPU" if settings.device == "cuda" else "CPU"
    cluster.wait_for({kind: replicas(settings, run)}, settings.cluster_timeout_seconds)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    # One proxy, beside this program: what listens on 127.0.0.1 of another node is of no use.
    listening = {"host": settings.host, "port": settings.port}
    serve.start(proxy_location="HeadOnly", http_options=listening)
    try:
        serve.run(application, route_prefix=prefix, name=run.id)
        log.event("serving", host=settings.host, port=settings.port, prefix=prefix)
        stopped.wait()
    except RuntimeError as e:
        raise ClusterError(str(e)) from e
    finally:
        serve.shutdown()
    return {"stopped": True}
