"""Checks of who may connect to the dashboard and who may read its files. Processes and sockets are those of Linux."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from mgem_core.doctor.check import Check
from mgem_core.home import TOKEN_NAME, home, is_private

LISTENS = "0A"  # the state of a socket in /proc/net/tcp
SCRIPT = re.compile(r"(^|/)(app|mgem_app)/main\.py$")  # started by `streamlit run`


class Dashboard(NamedTuple):
    process: int
    address: str
    port: int
    has_token: bool
    hosts: list[str]  # names of proxies


def check_access() -> Iterator[Check]:
    dashboards = find_dashboards()
    if not dashboards:
        found = "no dashboard is running" if Path("/proc/net/tcp").exists() else "running dashboards cannot be listed here"
        rule = "mgem dashboard answers all users of this computer only (with --token: those who have the token)"
        yield Check("access", f"{found}; {rule}", details={"dashboards": []})
    for one in dashboards:
        yield _describe(one)
    yield from _check_files()


def _describe(one: Dashboard) -> Check:
    is_local = ip_address(one.address).is_loopback
    advice = ""
    if one.has_token:
        where = "on this computer" if is_local and not one.hosts else "also on other computers"
        who = f"browsers with the token, {where}"
        if not is_local:
            advice = "the connection is not encrypted: outside a trusted network, use an SSH tunnel (docs/security.md)"
    else:  # app/boundary.py refuses other computers, whatever the address
        who = "all users of this computer, and no other computer"
        if not is_local:
            advice = "add --token to admit other computers, or leave out the address"
    if one.hosts and not one.has_token:
        who = f"everyone who can use the proxy {', '.join(one.hosts)}"
        advice = "add --token, unless the proxy checks who they are"
    shown = f"[{one.address}]" if ":" in one.address else one.address
    finding = f"the dashboard on {shown}:{one.port} (process {one.process}) answers {who}"
    return Check("access", finding, advice, details=one._asdict())


def _check_files() -> Iterator[Check]:
    """Check the modes of the folder of results and of the token; Windows has no such modes."""
    folder, token = home(), home() / TOKEN_NAME
    if not hasattr(os, "getuid") or not folder.is_dir():
        return
    if os.path.lexists(token) and not is_private(token):
        advice = "restart the dashboard with --token, which then makes a new one"
        yield Check("access", f"other users can read the token in {token}", advice)
    if folder.stat().st_mode & 0o022:
        yield Check("access", f"other users may change files in {folder}", f"chmod go-w {folder}, unless you share it")


def find_dashboards() -> list[Dashboard]:
    """Return the addresses on which dashboards of this user listen; none where there is no /proc."""
    found = []
    sockets = _listening_sockets()
    for process in _processes() if sockets else ():
        with suppress(OSError):  # it has ended, or belongs to another user
            arguments = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
            if is_dashboard(arguments):
                opened = {os.readlink(f"/proc/{process}/fd/{name}") for name in os.listdir(f"/proc/{process}/fd")}
                addresses = sorted(sockets[name] for name in opened & sockets.keys())
                options = "--token" in arguments, _values_of("--host", arguments)
                found += [Dashboard(process, *address, *options) for address in addresses]
    return found


def is_dashboard(arguments: list[str]) -> bool:
    """Return whether a command line is that of `mgem dashboard`, or of `streamlit run` with its main page."""
    if "dashboard" in arguments:
        before = arguments[: arguments.index("dashboard")]
        return "mgem_core" in before or any(Path(part).name == "mgem" for part in before)
    return "run" in arguments and any(SCRIPT.search(part) for part in arguments)


def _values_of(option: str, arguments: list[str]) -> list[str]:
    """Return the values of an option that can be repeated, written as --host NAME or --host=NAME."""
    after = [value for name, value in pairwise(arguments) if name == option]
    return after + [part.partition("=")[2] for part in arguments if part.startswith(f"{option}=")]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _listening_sockets() -> dict[str, tuple[str, int]]:
    """Map the names of sockets, as in /proc/PID/fd, to the addresses and ports on which they listen."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS:
                    found[f"socket:[{fields[9]}]"] = read_address(fields[1])
    return found


def read_address(text: str) -> tuple[str, int]:
    """Read an address of /proc/net/tcp: words of 32 bits in the byte order of the machine, a colon, and the port."""
    words, port = text.split(":")
    raw = b"".join(int(words[i : i + 8], 16).to_bytes(4, "little") for i in range(0, len(words), 8))
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw), int(port, 16)
