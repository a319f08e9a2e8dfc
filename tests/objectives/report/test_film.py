"""Film strips: slices, positions of objects in pictures, and errors."""

import sys

import numpy as np
import pytest
from helpers.mode_worlds import pick_and_place

import posewise as pw
from posewise import ConfigError, ObjectiveError
from posewise.objectives import Solution
from posewise.objectives.problem.spec import mode_sequence
from posewise.robots.world.palette import body_colors
from posewise.solvers import Status

pytest.importorskip("matplotlib", reason="pictures need the extra plot")


def sliding(T: int) -> Solution:
    """A red ball slides along x, from one end of a board to the other."""
    C = pw.Config()
    C.add_frame("board", shape=pw.Box([2.0, 0.1, 0.02]))
    ball = dict(shape=pw.Sphere(0.1), color=[1, 0, 0])
    C.add_frame("ball", joint="transX", position=[0, 0, 0.2], **ball)
    C.add_frame("mark", shape=pw.Marker(0.1))
    path = np.linspace([-0.9], [0.9], T)
    return Solution(path, Status.CONVERGED, 1e-3, 1, 0.0, C, np.full(T, 0.1))


def red(figure, axes) -> np.ndarray:
    """Return the positions of red pixels of one picture, from 0 (left, below) to 1."""
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba())[::-1].astype(int)
    x, y, width, height = axes.get_window_extent().bounds
    part = picture[int(y) : int(y + height), int(x) : int(x + width)]
    is_red = (part[..., 0] > 120) & (part[..., 1] < 60) & (part[..., 2] < 60)
    assert is_red.any()
    return np.argwhere(is_red)[:, ::-1].mean(0) / [width, height]


def test_pictures_from_the_first_slice_to_the_last():
    figure = sliding(9).film(slices=3, view=(0, -90))
    assert [a.get_title("left") for a in figure.axes] == [
        "slice 0, 0.10 s",
        "slice 4, 0.50 s",
        "slice 8, 0.90 s",
    ]
    left, middle, right = (red(figure, axes)[0] for axes in figure.axes)
    np.testing.assert_allclose([left, middle, right], [0.08, 0.5, 0.92], atol=0.04)


@pytest.mark.parametrize(
    ("view", "x"), [((0, -90), 0.92), ((0, 90), 0.08), ((90, -90), 0.92)]
)
def test_the_side_from_which_it_is_seen(view, x):
    figure = sliding(2).film(slices=[-1], view=view)
    assert abs(red(figure, figure.axes[0])[0] - x) < 0.04


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("slices", "T", "shown"),
    [(6, 3, [0, 1, 2]), (1, 3, [2]), ([2, 0, -1], 3, [2, 0, 2]), (2, 9, [0, 8])],
)
def test_which_slices(slices, T, shown):
    titles = [a.get_title("left") for a in sliding(T).film(slices=slices).axes]
    assert [int(t.split()[1].rstrip(",")) for t in titles] == shown


def test_only_some_frames_and_a_file(tmp_path):
    file = tmp_path / "film.png"
    figure = sliding(2).film(file, slices=1, frames=["ball"])
    assert file.read_bytes().startswith(b"\x89PNG")
    np.testing.assert_allclose(red(figure, figure.axes[0])[0], 0.5, atol=0.04)


def test_a_world_without_shapes_is_blank():
    C = pw.Config()
    C.add_frame("a", joint="hingeZ")
    path, tau = np.zeros((1, 1)), np.ones(1)
    figure = Solution(path, Status.CONVERGED, 1e-3, 1, 0.0, C, tau).film()
    assert len(figure.axes) == 1


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (dict(slices=0), ObjectiveError, "slices is 0, expected how many"),
        (dict(slices=[3]), ObjectiveError, "from -3 to 2"),
        (dict(slices=[]), ObjectiveError, "slices is empty"),
        (dict(slices="all"), ObjectiveError, "slices is 'all'"),
        (dict(view=[1]), ObjectiveError, "two numbers"),
        (dict(view=(0, np.nan)), ObjectiveError, "two numbers"),
        (dict(frames=["bal"]), ConfigError, "did you mean 'ball'"),
    ],
)
def test_bad_input(options, error, text):
    with pytest.raises(error, match=text):
        sliding(3).film(**options)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"posewise\[plot\]"):
        sliding(2).film()


@pytest.mark.parametrize("carried", [None, "free"])
def test_objects_keep_their_colour_through_pick_and_place(carried):
    komo = pick_and_place(carried, slices=2)
    modes, colors = mode_sequence(komo.spec), []
    parents = set()
    for t in range(4):
        C = modes.config_at(modes.world.q, t)
        parents.add(C.frame("box").parent)
        colors.append(dict(zip(C.frame_names, body_colors(C.frames), strict=True)))
    assert len(parents) > 1
    assert all(each == colors[0] for each in colors)
    assert len({colors[0][name] for name in ("table", "tray", "box")}) == 3
