"""The web server behind a view, which viser runs in its own thread."""

import contextlib
import io
import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viser import ViserServer

HOST = "127.0.0.1"
"""The loopback address, so that only this machine reaches the server."""


def start_server() -> Any:
    """Return a viser server that only this machine can reach, on a free port.

    It runs until it is stopped, or the process ends.

    Raises:
        ImportError: When viser is not installed; the message names the extra.
    """
    try:
        import viser
    except ImportError as error:
        raise ImportError(
            "Viewing a world needs viser; install it with"
            ' `pip install "posewise[viz]"`.'
        ) from error
    # viser prints a banner even if it is not verbose.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=0, verbose=False)
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, control_width="small"
    )
    server.scene.set_up_direction("+z")
    return server


def stop_server(server: "ViserServer") -> None:
    """Stop a server without its message on stdout."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def open_page(url: str) -> None:
    """Print the address of a page, and open it where there is a desktop."""
    print(f"posewise: the world is shown at {url}", file=sys.stderr)
    desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop:
        webbrowser.open(url)
