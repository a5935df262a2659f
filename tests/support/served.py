"""A dashboard in a separate process, and the addresses on which it listens."""

import contextlib
import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(command, port, cwd, **environment):
    """Start a command that serves the dashboard on a port; yield the process once it answers on 127.0.0.1."""
    environment = {**os.environ, "MGEM_HOME": str(cwd), "MGEM_DATA": str(cwd), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=environment, **pipes)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError):
                read(port, "_stcore/health")
                break
            time.sleep(0.1)
        assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def read(port, path, keep_cookies=False):
    handlers = [urllib.request.HTTPCookieProcessor()] if keep_cookies else []
    with urllib.request.build_opener(*handlers).open(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
        return answer.read()


def listening_addresses(port):
    """Return the local addresses of all sockets that listen on a port, from the list of the Linux kernel."""
    addresses = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            _, local, _, state, *_ = line.split()
            address, number = local.split(":")
            if int(number, 16) == port and state == "0A":  # LISTEN
                addresses.add(socket.inet_ntoa(bytes.fromhex(address)[::-1]) if len(address) == 8 else address)
    return addresses
