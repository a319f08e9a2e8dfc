"""The viewer, asked as a browser would: over HTTP and its websocket."""

import re
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
import trimesh

import posewise as pw
from posewise import ConfigError
from posewise.objectives import Solution
from posewise.objectives.placement import Placement
from posewise.robots.visual.viewer import View, path_animation
from posewise.robots.visual.viewer.overlays import (
    OVERLAYS,
    OverlayContext,
    draw_collisions,
)
from posewise.solvers import Status

viser = pytest.importorskip("viser", reason="the viewer needs the extra viz")


def world() -> pw.Config:
    """Every kind of shape, a joint, and all that overlays draw."""
    C = pw.Config()
    C.add_frame("base", shape=pw.Box([0.1, 0.1, 0.1]))
    C.add_frame("turn", "base", joint="hingeZ", shape=pw.Capsule(0.3, 0.03))
    C.add_frame("hand", "turn", position=[0.3, 0, 0], shape=pw.Marker())
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    shapes = [
        pw.Sphere(0.1),
        pw.Ellipsoid([0.1, 0.2, 0.1]),
        pw.Cylinder(0.2, 0.1),
        pw.Convex(points),
        pw.Plane(),
        pw.PointCloud(points),
        pw.Mesh(trimesh.creation.box()),
    ]
    for k, shape in enumerate(shapes):
        C.add_frame(f"s/{k}", position=[k, 1, 0], shape=shape, color=[1, 0, 0, 0.5])
    C.add_object("shelf", [(pw.Box([0.4, 0.4, 0.02]), None)])
    C.annotations.add_region("shelf", "inside", size=[0.4, 0.4, 0.3])
    C.annotations.add_region("shelf", "top", "support", size=[0.4, 0.4])
    C.annotations.add_camera("eye", "hand")
    C.annotations.add_agent("robot", "base")
    C.annotations.rooms = pw.RoomMap([pw.Room("hall_0", cells=[2, 2, 5, 5])], 10)
    return C


@pytest.fixture(scope="module")
def view():
    with world().view(browser=False) as shown:
        yield shown


def nodes(view: View) -> set[str]:
    """Names of the nodes that are there."""
    return set(view._server.scene._handle_from_node_name)


def told(view: View) -> bytes:
    """The first bundle of messages that a page gets when it opens."""
    import zstandard
    from websockets.sync.client import connect

    address = view.url.replace("http", "ws")
    with connect(address, subprotocols=[f"viser-v{viser.__version__}"]) as page:
        data = page.recv(timeout=5)
    packed = data[data.index(b"\x28\xb5\x2f\xfd") :]
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


def test_it_answers_on_this_machine_only(view):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", view.url)
    assert b"<html" in urllib.request.urlopen(view.url, timeout=5).read()
    assert view._server.get_host() == "127.0.0.1"
    assert b"/frames/hand/marker" in told(view)


def test_frames_and_shapes_are_nodes_and_follow_the_world(view):
    kinds = "sphere ellipsoid cylinder convex plane pointcloud mesh".split()
    expected = {f"/frames/s|{k}/{kind}" for k, kind in enumerate(kinds)}
    expected |= {"/frames/turn/capsule", "/frames/base/box", "/frames/shelf/box"}
    assert expected <= nodes(view)
    C = view.config
    C.q = [np.pi / 2]
    assert C.view() is view
    handle = view._server.scene.get_handle_by_name("/frames/hand")
    np.testing.assert_allclose(handle.position, [0, 0.3, 0], atol=1e-12)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(handle.wxyz, [half, 0, 0, half], atol=1e-12)
    C.add_frame("new", shape=pw.Sphere(0.1))
    view.update()
    assert "/frames/new/sphere" in nodes(view)


def test_overlays_come_and_go(view):
    before = nodes(view)
    calm = [name for name in OVERLAYS if name != "collisions"]
    view.show(*calm)
    added = nodes(view) - before
    assert set(view.overlays) == set(calm)
    assert {
        "/frames/shelf/cavity shelf inside",
        "/frames/shelf/support shelf top",
        "/frames/eye/sight",
        "/frames/base/reach robot",
        "/rooms/hall_0/name",
        "/frames/hand/axes",
    } <= added
    view.config.add_frame("newer", shape=pw.Sphere(0.1))
    view.update()
    assert added <= nodes(view)
    view.hide(*calm)
    assert not view.overlays and not added & (nodes(view) - {"/rooms", "/names"})


def test_witness_points_are_drawn(view):
    C = pw.Config()
    C.add_frame("a", joint="free", shape=pw.Sphere(0.1))
    C.add_frame("b/c", joint="free", shape=pw.Sphere(0.1), position=[0.15, 0, 0])
    (handle,) = draw_collisions(OverlayContext(view._server.scene, C, 0.1))
    pair = "/collisions/a - b|c"
    assert {pair, f"{pair}/witnesses", f"{pair}/depth"} <= nodes(view)
    handle.remove()


def test_dragging_moves_the_frame_and_calls_back():
    C = world()
    C.add_frame("target", position=[1, 0, 0], shape=pw.Marker())
    positions = []

    def react(D):
        assert D is C
        positions.append(D.pose("target")[:3])
        D.q = [0.5]

    with C.view(browser=False) as view:
        view.on_move("target", react)
        drag = view._gizmos["target"]
        gizmo = view._server.scene.get_handle_by_name("/drag/target")
        np.testing.assert_allclose(gizmo.position, [1, 0, 0])
        for x in (2.0, 3.0):
            drag._worker.put(np.array([x, 0, 0, 1.0, 0, 0, 0]))
        end = time.monotonic() + 5
        while not (positions and positions[-1][0] == 3.0) and time.monotonic() < end:
            time.sleep(0.01)
        np.testing.assert_allclose(positions[-1], [3, 0, 0])
        view.update()
        np.testing.assert_allclose(gizmo.position, [3, 0, 0])
        np.testing.assert_allclose(C.q, [0.5])


def test_a_path_plays_and_is_saved_as_one_page(tmp_path):
    C = world()
    path = np.linspace([0.0], [1.0], 5)
    with C.view(path, dt=0.02, browser=False) as view:
        handle = view._server.scene.get_handle_by_name("/frames/turn")
        np.testing.assert_allclose(handle.wxyz, [1, 0, 0, 0])
        view._player._slider.value = 4
        np.testing.assert_allclose(handle.wxyz[3], np.sin(0.5))
        view._player.toggle()
        end = time.monotonic() + 5
        while view._player.slice != 2 and time.monotonic() < end:
            time.sleep(0.001)
        assert time.monotonic() < end
        view._player.toggle()
        page = view.save(tmp_path / "path.html").read_text()
        for wrong in (path[:3], path):
            D = pw.load("planar3") if wrong is path else world()
            other = path_animation(D, np.zeros((len(wrong), D.nq)))
            with pytest.raises(ConfigError, match="this view plays"):
                view.play(other)
    assert "__VISER_EMBED_DATA__" in page
    fetched = r"<(?:script|link|img)[^>]*(?:src|href)=[\"'](?!data:)([^\"']*)"
    assert not re.findall(fetched, page[: page.index("<body")])


def test_the_clearance_of_a_path_is_a_curve():
    C = pw.Config()
    C.add_frame("wall", shape=pw.Sphere(0.1))
    C.add_frame("ball", joint="transX", shape=pw.Sphere(0.1), position=[0.1, 0, 0])
    path = np.array([[0.2], [0.4], [0.0], [0.1]])
    with C.view(path, dt=0.5, browser=False) as view:
        assert view._curve is None
        view._player._slider.value = 2
        view.show("clearance")
        curve = view._curve
        for t in (2, 1):
            view._player._slider.value = t
            times, distances, mark = curve._plot.data
            # Distance of the centres without both radii [mm].
            gaps = [100.0, 300.0, -100.0, 0.0]
            np.testing.assert_allclose(times[mark != 0], 0.5 * t)
            np.testing.assert_allclose(mark[mark != 0], gaps[t], atol=1e-3)
            unique, first = np.unique(times, return_index=True)
            np.testing.assert_allclose(unique, [0, 0.5, 1, 1.5])
            np.testing.assert_allclose(distances[first], gaps, atol=1e-3)
            assert (np.diff(times) >= 0).all()
        view.play(path_animation(C, path + 0.1, dt=0.25))
        assert view._player.slice == 1
        np.testing.assert_allclose(view._player.pauses, 0.25)
        assert curve._plot.data[0].max() == pytest.approx(0.75)
        np.testing.assert_allclose(curve._plot.data[2].max(), 400, atol=1e-3)
        view.hide("clearance")
        assert view._curve is None
        view.write("certified")
        assert view._text.content == "certified"


def solution(path: np.ndarray) -> Solution:
    C = world()
    tau = np.full(len(path), 0.1)
    return Solution(path, Status.CONVERGED, 1e-3, 1, 0.0, C, tau)


def test_solutions_and_placements():
    with solution(np.array([[0.0], [1.0]])).view(browser=False) as view:
        view._player._slider.value = 1
        handle = view._server.scene.get_handle_by_name("/frames/turn")
        np.testing.assert_allclose(handle.wxyz[3], np.sin(0.5))
    with Placement({}, solution(np.array([[1.0]]))).view(browser=False) as view:
        assert view._player is None
        handle = view._server.scene.get_handle_by_name("/frames/turn")
        np.testing.assert_allclose(handle.wxyz[3], np.sin(0.5))


def test_closing_stops_the_server():
    C = world()
    view = C.view(browser=False)
    view.close()
    view.close()
    assert view.closed and repr(view) == "View(closed)"
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(view.url, timeout=2)
    with pytest.raises(ConfigError, match="closed"):
        view.update()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda v: v.show("colisions"), "did you mean 'collisions'"),
        (lambda v: v.hide("room"), "did you mean 'rooms'"),
        (lambda v: v.show("frames", margin="far"), "margin"),
        (lambda v: v.on_move("hnad", print), "did you mean 'hand'"),
        (lambda v: v.save("scene.png"), "scene.png"),
        (lambda v: v.config.view(path=[[0, 1]]), r"\(T, 1\)"),
        (lambda v: v.config.view(path=[[np.nan]]), "finite"),
        (lambda v: v.config.view(path=[[0]], dt=0), "dt"),
        (lambda v: v.play(path_animation(v.config, [[0]])), "this view plays no path"),
    ],
)
def test_bad_input(view, call, text):
    with pytest.raises(ConfigError, match=text):
        call(view)


def test_without_viser_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ImportError, match=r"posewise\[viz\]"):
        world().view(browser=False)


def test_a_world_whose_shapes_were_left_out_says_so():
    shape = '<geometry><box size="1 1 1"/></geometry>'
    lost = '<geometry><mesh filename="no.stl"/></geometry>'
    text = '<robot name="r"><link name="a"><collision>{0}</collision></link></robot>'
    C = pw.Config()
    with pytest.warns(UserWarning, match="no.stl"):
        C.add_text(text.format(lost))
    with pytest.warns(UserWarning, match="draws frames, but no shapes"):
        C.view(browser=False).close()
    D = pw.Config()
    D.add_text(text.format(shape))
    with D.view(browser=False) as view:
        assert [n for n in nodes(view) if n.startswith("/frames/a/")] == [
            "/frames/a/box"
        ]


def test_dae_meshes_need_pycollada(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "collada", None)
    monkeypatch.setitem(sys.modules, "collada.common", None)
    (tmp_path / "m.dae").write_text("<COLLADA/>")
    mesh = '<geometry><mesh filename="m.dae"/></geometry>'
    text = f'<robot name="r"><link name="a"><visual>{mesh}</visual></link></robot>'
    C = pw.Config()
    C.add_text(text, folder=tmp_path)
    with pytest.raises(ImportError, match=r"m.dae.*pip install .posewise\[meshes\]"):
        C.view(browser=False)
