"""Packages that hold a made-up model, and a slow index that serves one."""

from __future__ import annotations

import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

CONTENT = bytes(range(256)) * 8192  # 2 MiB that pack well


def write_wheel(folder: Path, name: str, version: str, file: str, *, compress: bool = True) -> Path:
    package = name.replace("-", "_")
    path = folder / f"{package}-{version}-py3-none-any.whl"
    info = f"{package}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as wheel:
        wheel.writestr(f"{package}/{file}", CONTENT)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


class SlowIndex:
    """Serves one wheel over HTTP: half of it at once, the rest when `released`."""

    def __init__(self, wheel: Path) -> None:
        self.released = threading.Event()
        self.half_sent = threading.Event()
        self.downloads = 0
        index, content = self, wheel.read_bytes()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_wheel = self.path.endswith(".whl")
                body = content if is_wheel else f'<a href="/{wheel.name}">{wheel.name}</a>'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/zip" if is_wheel else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if is_wheel:
                    index.downloads += 1
                    self.wfile.write(body[: len(body) // 2])
                    index.half_sent.set()
                    index.released.wait(20)
                    body = body[len(body) // 2 :]
                try:
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            @override
            def log_message(self, *_: object) -> None:
                """Keep the tests' output clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=partial(self.server.serve_forever, 0.05), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
