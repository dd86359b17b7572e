"""Asks the services as their users do, and ends them."""

import contextlib
import json
import signal
import urllib.error
import urllib.request

from programs import Program, free_ports, kill, wait_until

TOKEN = "0123456789abcdef"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


class Client:
    """Asks a service on this machine."""

    def __init__(self, port: int):
        """Keeps the port."""
        self.port = port

    def ask(self, path: str, token: str | None = None, body: dict | None = None):
        """Returns status and content, of JSON where it is JSON. A body makes it a POST."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(asked, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            text = e.read()
            # Ray's proxy answers for an application that is not there yet, and not in JSON.
            return e.code, json.loads(text) if text.startswith(b"{") else text

    def up(self, path: str) -> bool:
        """Tells whether health is answered."""
        try:
            return self.ask(path)[0] == 200
        except OSError:
            return False


@contextlib.contextmanager
def service(program: Program, name: str, health: str, **knobs: object):
    """Serves while it lasts, on a free port; the program must end well when it is asked to."""
    (port,) = free_ports(1)
    started = program.start(name, name, SERVE_TOKEN=TOKEN, SERVE_PORT=port, **knobs)
    client = Client(port)
    try:
        wait_until(lambda: client.up(health), started)
        yield client
        started.send_signal(signal.SIGTERM)
        assert Program.end(started)["stopped"] is True
    finally:
        if started.poll() is None:
            kill(started)


def web(replica, root: str = ""):
    """Returns a client of a replica in this process, which is called as Serve calls it."""
    from starlette.requests import Request
    from starlette.testclient import TestClient

    async def app(scope, receive, send):
        response = await replica(Request(scope, receive))
        await response(scope, receive, send)

    return TestClient(app, root_path=root)
