"""The command `mgem dashboard`, which serves the dashboard to browsers on this computer, and with a token to others."""

import argparse
import errno
import os
import re
import signal
import socket
import sys
import tomllib
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from mgem_core import UsageError
from mgem_core.cli._token import read_token
from mgem_core.home import home

ADDRESS = "127.0.0.1"
HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*", re.IGNORECASE)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_dashboard)
    parser.add_argument("--port", type=int, default=8501, metavar="N", help="port to listen on [8501]")
    parser.add_argument("--token", action="store_true", help="ask each browser once for a token (for shared computers)")
    parser.add_argument(
        "--address", default=ADDRESS, help=f"IP address to listen on; any other than {ADDRESS} needs --token [{ADDRESS}]"
    )
    host = "host name of a reverse proxy in front of it; can be repeated"
    parser.add_argument("--host", action="append", default=[], metavar="NAME", help=host)


def _dashboard(options: argparse.Namespace) -> int:
    main_page = find_main_page(Path(__file__).parents[2])
    address = _check_address(options.address, options.token)
    hosts = [_check_host(name) for name in options.host]
    _check_port(options.port, address)
    token = read_token(home()) if options.token else ""
    # In the environment, because other users can see command lines. app/main.py removes both when it reads them.
    os.environ["MGEM_DASHBOARD_TOKEN"] = token
    os.environ["MGEM_DASHBOARD_HOSTS"] = " ".join(hosts)
    flags = [*_settings(main_page), "--server.address", address, "--server.port", str(options.port)]
    from streamlit.web import cli as streamlit  # imported here, because it takes a second

    print(f"The dashboard is at {_url(address, options.port, token)} (press Ctrl+C to end it).", flush=True)
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))  # otherwise Streamlit ends with a traceback
    streamlit.main(["run", str(main_page), *flags], standalone_mode=False)
    return 0


def find_main_page(root: Path) -> Path:
    """Return the script that Streamlit runs; app/ of the source tree is installed as mgem_app/ next to mgem_core/."""
    for folder in ("mgem_app", "app"):  # mgem_app first: next to an installed mgem_core, "app" would be another project
        if (path := root / folder / "main.py").is_file():
            return path
    raise UsageError(f"the dashboard is not installed: {root} has neither mgem_app/main.py nor app/main.py; reinstall it.")


def _settings(main_page: Path) -> list[str]:
    """Return the settings of the dashboard as flags, which override the environment and other files."""
    sections = tomllib.loads((main_page.parent / ".streamlit" / "config.toml").read_text())
    sections.pop("theme")
    flags = ["--logger.hideWelcomeMessage", "true"]
    for section, options in sections.items():
        for name, value in options.items():
            if value != []:  # there is no flag for an empty list
                flags += [f"--{section}.{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return flags


def _url(address: str, port: int, token: str) -> str:
    """Return the URL to open; for a server on all interfaces, it has the name of this computer."""
    if ip_address(address).is_unspecified:
        address = socket.gethostname()
    elif ":" in address:
        address = f"[{address}]"
    return f"http://{address}:{port}" + (f"/?token={token}" if token else "")


def _check_address(text: str, has_token: bool) -> str:
    try:
        address = ip_address(ADDRESS if text == "localhost" else text)
    except ValueError:
        raise UsageError(f'address is "{text}"; it must be an IP address, such as {ADDRESS} or 0.0.0.0.') from None
    if not address.is_loopback and not has_token:
        raise UsageError(
            f"address is {address}, where other computers can reach the dashboard; add --token, or leave out --address."
        )
    return str(address)


def _check_host(name: str) -> str:
    if not HOST_NAME.fullmatch(name):
        raise UsageError(
            f'host is "{name}"; it must be the name of a proxy without scheme and port, such as lab.example.org.'
        )
    return name.lower()


def _check_port(port: int, address: str) -> None:
    if not 1 <= port <= 65535:
        raise UsageError(f"port is {port}; it must be from 1 to 65535.")
    family = socket.AF_INET6 if isinstance(ip_address(address), IPv6Address) else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just closed counts as free
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise UsageError(
                    f"address is {address}, but this computer does not have it; leave out --address."
                ) from None
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise UsageError(f"port is {port}, but it {reason}; choose another one with --port N.") from None
