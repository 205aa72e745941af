"""The process that `warm_processes` forks from: `python fork_server.py <socket>`.

It has no threads and runs nothing of what it imports. A child leaves the loop and comes to the end of this file,
so that it ends as every Python does: exit functions, flushed streams, a traceback for what nobody caught.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import socket
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def load() -> None:
    """Import what our commands and services import."""
    for main in sorted(ROOT.glob("services/*/lictor_*/__main__.py")):
        _load_all(main.parent.name)
    _load_all("lictor_cli")
    assert threading.active_count() == 1, "a thread is lost by a fork"
    gc.collect()
    gc.freeze()


def _load_all(package: str) -> None:
    found = importlib.import_module(package)
    for each in pkgutil.walk_packages(found.__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)


def serve(address: str) -> dict[str, Any]:
    """Fork for whoever asks; returns in the children, with what they are to do."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    children: dict[int, tuple[int, socket.socket]] = {}
    os.write(1, b"ready\n")
    while True:
        for key, _ in selector.select():
            if key.fileobj == 0:
                sys.exit()
            if key.fileobj is not listener:
                pid, asker = children.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                _tell(asker, str(code).encode())
                asker.close()
                continue
            asker, _ = listener.accept()
            wanted, streams = _read(asker)
            pid = os.fork()
            if pid == 0:
                selector.close()
                for handle, (_, other) in children.items():
                    os.close(handle)
                    other.close()
                listener.close()
                asker.close()
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                    os.close(stream)
                return wanted
            for stream in streams:
                os.close(stream)
            handle = os.pidfd_open(pid)
            children[handle] = (pid, asker)
            selector.register(handle, selectors.EVENT_READ)
            _tell(asker, pid.to_bytes(4, "big"))


def _read(asker: socket.socket) -> tuple[dict[str, Any], list[int]]:
    size, streams, _, _ = socket.recv_fds(asker, 4, 3)
    left = int.from_bytes(size, "big")
    body = b""
    while len(body) < left:
        body += asker.recv(left - len(body))
    return json.loads(body), list(streams)


def _tell(asker: socket.socket, what: bytes) -> None:
    try:
        asker.sendall(what)
    except OSError:
        return  # whoever asked is gone


def become(wanted: dict[str, Any]) -> None:
    """Run the entry as a fresh Python would."""
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    first, *arguments = wanted["entry"]
    if first == "-m":
        module, *arguments = arguments
        sys.argv = [module, *arguments]
        sys.path[0] = wanted["cwd"]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *arguments]
        sys.path[0] = str(Path(first).parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    load()
    become(serve(sys.argv[1]))
