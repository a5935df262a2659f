"""The command `mgem dashboard`, which serves the dashboard to browsers on this computer."""

import argparse
import errno
import socket
from pathlib import Path

from mgem_core import UsageError

ADDRESS = "127.0.0.1"  # the dashboard has no log-in, so no other computer may reach it


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_dashboard)
    parser.add_argument("--port", type=int, default=8501, metavar="N", help="the port it listens on [8501]")


def _dashboard(options: argparse.Namespace) -> int:
    main_page = find_main_page(Path(__file__).parents[2])
    _check_port(options.port)
    from streamlit.web import cli as streamlit  # here, because importing it takes a second

    print(f"The dashboard is at http://{ADDRESS}:{options.port} (press Ctrl+C to end it).", flush=True)
    flags = ["--server.address", ADDRESS, "--server.port", str(options.port), "--logger.hideWelcomeMessage", "true"]
    streamlit.main(["run", str(main_page), *flags], standalone_mode=False)
    return 0


def find_main_page(root: Path) -> Path:
    """The script that Streamlit runs: app/ in the source tree is installed as mgem_app/ beside mgem_core/."""
    for folder in ("mgem_app", "app"):  # mgem_app first: beside an installed mgem_core, "app" is another project
        if (path := root / folder / "main.py").is_file():
            return path
    raise UsageError(f"the dashboard is not installed: {root} has neither mgem_app/main.py nor app/main.py; reinstall it.")


def _check_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise UsageError(f"port is {port}; it must be from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just closed counts as free
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise UsageError(f"port is {port}, but it {reason}; choose another one with --port N.") from None
