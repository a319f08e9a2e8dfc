"""The viewer in a real browser, with a mouse that drags in it."""

import numpy as np
import pytest

import posewise as pw

pytest.importorskip("viser", reason="the viewer needs the extra viz")
pytest.importorskip("matplotlib", reason="pictures are read by matplotlib")
from helpers.browser import CHROMIUM, Browser, pixel, spot, wait_for  # noqa: E402

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium on the PATH"
)
BALLS = {"red": [0, 0, 0.0], "green": [0.6, 0.0, 0.0], "blue": [0.6, 0, 0.4]}


def arm() -> pw.Config:
    """A blue hand on an arm that turns about z; a red ball that stands still."""
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", shape=pw.Marker())
    C.add_frame("hand", "arm", position=[0.35, 0, 0], **ball([0, 0, 1.0]))
    C.add_frame("still", position=[0, 0, 0.5], **ball([1.0, 0, 0]))
    C.add_frame("target", position=[0.4, 0.3, 0.0])
    return C


def ball(color) -> dict:
    return dict(shape=pw.Sphere(0.06), color=color)


@pytest.mark.slow
def test_balls_are_seen_where_they_are(tmp_path):
    C = pw.Config()
    for k, (name, place) in enumerate(BALLS.items()):
        C.add_frame(name, position=place, **ball(np.eye(3)[k]))
    with C.view(browser=False) as view:
        page = view.save(tmp_path / "balls.html")
        expected = [pixel(view._server, place) for place in BALLS.values()]
    with Browser(page.as_uri(), tmp_path / "browser") as browser:
        all_seen = lambda: _spots(browser.picture(), 3)
        np.testing.assert_allclose(wait_for(all_seen), expected, atol=32)


@pytest.mark.slow
def test_the_mouse_drags_a_target_and_the_robot_follows(tmp_path):
    C = arm()

    def react(D):
        x, y, _ = D.pose("target")[:3]
        D.q = [np.arctan2(y, x)]

    with C.view(browser=False) as view:
        view.on_move("target", react)
        on_page = lambda point: pixel(view._server, point)
        with Browser(view.url, tmp_path / "browser") as browser:
            target_spot = lambda: spot(browser.picture(), 2)
            wait_for(lambda: target_spot() is not None)
            arrow = np.array([0.4 + 0.13, 0.3, 0])
            browser.drag(on_page(arrow), on_page(arrow - [0.3, 0, 0]))
            wait_for(lambda: C.q[0] > 1.0)
            x, y, z = C.pose("target")[:3]
            np.testing.assert_allclose([x, y, z], [0.1, 0.3, 0], atol=0.04)
            np.testing.assert_allclose(C.q, np.arctan2(y, x))
            hand = on_page(C.pose("hand")[:3])
            wait_for(lambda: np.linalg.norm(target_spot() - hand) < 40)


def _spots(picture: np.ndarray, count: int):
    spots = [spot(picture, color) for color in range(count)]
    return None if any(f is None for f in spots) else np.stack(spots)
