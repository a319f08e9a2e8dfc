"""The web server behind a view, which viser runs in a thread of its own."""

import contextlib
import io
import os
import sys
import webbrowser
from typing import Any

HOST = "127.0.0.1"


def start_server() -> Any:
    """A viser server that only this machine can reach, on a free port.

    It runs until it is stopped, or the process ends.

    Raises:
        ImportError: without viser; names the extra.
    """
    try:
        import viser
    except ImportError as error:
        raise ImportError(
            "Viewing a world needs viser; install it with"
            ' `pip install "posewise[viz]"`.'
        ) from error
    with contextlib.redirect_stdout(io.StringIO()):  # a banner, even if not verbose
        server = viser.ViserServer(host=HOST, port=0, verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.scene.set_up_direction("+z")
    return server


def stop_server(server: Any) -> None:
    """Stop it without a word."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def open_page(url: str) -> None:
    """Say where the page is, and open it where there is a desktop."""
    print(f"posewise: the world is shown at {url}", file=sys.stderr)
    desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop:
        webbrowser.open(url)
