"""A web server that replaces those from which torchvision downloads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serve(folder: Path, monkeypatch) -> Iterator[str]:
    """Serve the files of a folder within a `with` block; the address ends with a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
