"""Serves the timeline of a recording to a browser on this machine (Starlette, uvicorn)."""

import asyncio
import logging
import secrets
import socket
from functools import cache
from importlib import resources
from threading import Thread

import duckdb
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from damaris.errors import Refused
from damaris.kernel import libraries
from damaris.timeline import MOST_PIXELS, Timeline, Window

FILES = {"viewer.js": "text/javascript", "drawing.js": "text/javascript", "viewer.css": "text/css"}
LIBRARY = "d3.min.js"
SOONER = 0.3  # seconds after which a question ends whose browser has gone


@cache
def file(name: str) -> str:
    """A part of the page."""
    if name == LIBRARY:
        path = libraries() / "damaris" / LIBRARY
        if not path.exists():
            raise Refused(f"'{path}', which draws axes, is not there; install Debian's package node-d3, then build or install damaris again")
        return path.read_text()
    return resources.files("damaris").joinpath("viewer", name).read_text()


class Guard:
    """Lets in who knows the token, from a page of this server: any other page in the browser can send requests here, too."""

    def __init__(self, app, port: int, token: str):
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"damaris_{port}"

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_unstored(message):
            """A page that a browser kept would be there without the token."""
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"cache-control", b"no-store")]
            await send(message)

        await self.answer(Request(scope))(scope, receive, send_unstored)

    def answer(self, request: Request):
        origin, site = (request.headers.get(key) for key in ("origin", "sec-fetch-site"))
        # Cookies go to all ports of a machine, and so does what a page of another port asks for.
        is_other = bool(origin and origin.removeprefix("http://") not in self.hosts) or (request.url.path != "/" and site not in (None, "none", "same-origin"))
        if request.headers.get("host") not in self.hosts or is_other:
            return PlainTextResponse("This address is for a browser on this machine.\n", 403)
        given = request.query_params.get("token")
        if given and request.url.path == "/" and same(given, self.token):
            response = RedirectResponse("/", 303)
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return response
        if not same(request.cookies.get(self.cookie, ""), self.token):
            return PlainTextResponse("Open the address that damaris view printed: it ends with ?token=...\n", 401)
        return self.app


def same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(errors="replace"), other.encode())


def window_of(request: Request) -> Window:
    """Raises ValueError for what is none."""
    begin, end, first, last = (float(request.query_params[key]) for key in ("begin", "end", "first", "last"))
    if not -1e19 < begin < end < 1e19 or not 0 <= first < last < 1e9:
        raise ValueError("a window is begin < end and first < last")
    return Window(begin, end, int(first), int(last))


def app_of(timeline: Timeline) -> Starlette:
    def page(_: Request) -> Response:
        return Response(file("viewer.html"), media_type="text/html")

    def part(request: Request) -> Response:
        name = request.path_params["name"]
        if name != LIBRARY and name not in FILES:
            return PlainTextResponse("no such file\n", 404)
        return Response(file(name), media_type=FILES.get(name, "text/javascript"))

    def raster(request: Request) -> Response:
        window, width = window_of(request), int(request.query_params["width"])
        if not 0 < width <= MOST_PIXELS // max(min(window.last, len(timeline.threads)) - window.first, 1):
            raise ValueError("the picture is too large")
        return Response(timeline.raster(window, width), media_type="application/octet-stream")

    def stack(request: Request) -> Response:
        values = request.query_params
        return JSONResponse(timeline.stack(int(values["row"]), float(values["time"]), float(values.get("slack", 0))))

    def about_window(name: str):
        return lambda request: JSONResponse(getattr(timeline, name)(window_of(request)))

    async def ask(request: Request) -> Response:
        """A question may take for ever; it ends when another one is asked, or the page closed."""
        with timeline.asking() as cursor:
            answer = asyncio.ensure_future(run_in_threadpool(timeline.ask_by, cursor, request.query_params["words"]))
            while not (await asyncio.wait([answer], timeout=SOONER))[0]:
                if await request.is_disconnected():
                    cursor.interrupt()
            return JSONResponse(await answer)

    def wrong(_: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", 400)

    routes = [
        Route("/", page), Route("/api/about", lambda _: JSONResponse(timeline.about())), Route("/api/raster", raster), Route("/api/stack", stack),
        Route("/api/lines", about_window("lines")), Route("/api/statistics", about_window("statistics")), Route("/api/ask", ask),
        Route("/api/findings", lambda _: JSONResponse(timeline.findings())), Route("/{name}", part),
    ]  # fmt: skip
    return Starlette(routes=routes, exception_handlers={ValueError: wrong, KeyError: wrong, duckdb.Error: wrong})


def listening(port: int) -> socket.socket:
    """On this machine only; 0: any free port."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError as error:
        raise Refused(f"port {port} cannot be used: {error.strerror}; leave --port out, or name another one") from error
    return found


def serve(timeline: Timeline, port: int, on_ready) -> None:
    """Until Ctrl-C. `on_ready`: called with the address, in a thread, once Ctrl-C and requests are attended to."""
    import uvicorn

    file(LIBRARY)
    Thread(target=lambda: timeline.files, daemon=True).start()  # the first picture does not need it
    listener = listening(port)
    port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
    config = uvicorn.Config(Guard(app_of(timeline), port, token), log_level="warning", timeout_graceful_shutdown=1, server_header=False)

    class Server(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            Thread(target=on_ready, args=[f"http://127.0.0.1:{port}/?token={token}"], daemon=True).start()

        async def shutdown(self, sockets=None) -> None:
            timeline.stop()
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # that requests are cancelled is what was asked for
            await super().shutdown(sockets)

    Server(config).run([listener])
