"""`BSpline` with rai's names: clamped B-splines, evaluated by SciPy."""

import numpy as np
from scipy import interpolate

import posewise as pw
from posewise.robots.typing import MatrixLike, VectorLike


class BSpline:
    """Spline through its first and last control point; outside it stands still.

    Control points at the ends are doubled, so that the spline comes to rest there.
    """

    def __init__(self) -> None:
        self._degree = 2
        self._knots = np.zeros(0)
        self._points = np.zeros((0, 0))

    def set(
        self,
        degree: int,
        points: MatrixLike,
        times: VectorLike,
        setStartVel: VectorLike = (),
        setEndVel: VectorLike = (),
    ) -> "BSpline":
        """Set knots and control points.

        Args:
            degree: degree of the polynomials.
            points: control points (n, d).
            times: times (n,) of the points [s].
            setStartVel: velocity (d,) at the start, or nothing for rest.
            setEndVel: velocity (d,) at the end, or nothing for rest.
        """
        self.setKnots(degree, times)
        self.setCtrlPoints(points, True, True, setStartVel, setEndVel)
        return self

    def setKnots(self, degree: int, times: VectorLike) -> None:
        """Set the degree, and knots at or, for even degrees, between times (n,)."""
        t = np.ravel(np.asarray(times, float))
        inner = t[1:-1] if degree % 2 else (t[1:] + t[:-1]) / 2
        ends = np.full(degree + 1, t[0]), np.full(degree + 1, t[-1])
        self._degree = degree
        self._knots = np.concatenate([ends[0], inner, ends[1]])

    def setCtrlPoints(
        self,
        points: MatrixLike,
        addStartDuplicates: bool = True,
        addEndDuplicates: bool = True,
        setStartVel: VectorLike = (),
        setEndVel: VectorLike = (),
    ) -> None:
        """Set the control points (n, d).

        Args:
            points: the points; those at doubled ends are not repeated.
            addStartDuplicates: whether to double the first point.
            addEndDuplicates: whether to double the last point.
            setStartVel: velocity (d,) at the start, or nothing.
            setEndVel: velocity (d,) at the end, or nothing.

        Raises:
            ObjectiveError: for a number of points that does not fit the knots.
        """
        points = np.atleast_2d(np.asarray(points, float))
        copies, p, t = self._degree // 2, self._degree, self._knots
        first = np.repeat(points[:1], copies * addStartDuplicates, 0)
        last = np.repeat(points[-1:], copies * addEndDuplicates, 0)
        c = np.concatenate([first, points, last])
        if len(c) != len(t) - p - 1:
            raise pw.ObjectiveError(
                f"points has {len(points)} rows, which are {len(c)} with those at the"
                f" ends, expected {len(t) - p - 1} in all for {len(t)} knots."
            )
        if np.size(setStartVel):
            c[1] = c[0] + np.ravel(setStartVel) * (t[p + 1] - t[1]) / p
        if np.size(setEndVel):
            c[-2] = c[-1] - np.ravel(setEndVel) * (t[-2] - t[-p - 2]) / p
        self._points = c

    def getKnots(self) -> np.ndarray:
        """Return the knots [s]."""
        return self._knots.copy()

    def getCtrlPoints(self) -> np.ndarray:
        """Return the control points (n, d), those that are doubled twice."""
        return self._points.copy()

    def eval(self, sampleTimes: VectorLike, derivative: int = 0) -> np.ndarray:
        """Return positions (m, d), or derivatives, at times (m,).

        Before the start and from the end on, derivatives are 0.
        """
        times, (t, p) = np.ravel(np.asarray(sampleTimes, float)), self._domain()
        out = np.zeros((len(times), self._points.shape[1]))
        if derivative == 0:
            out[times < t[0]], out[times >= t[-1]] = self._points[0], self._points[-1]
        inside = (times >= t[0]) & (times < t[-1])
        if inside.any():
            spline = interpolate.BSpline(t, self._points, p)
            out[inside] = spline(times[inside], derivative)
        return out

    def eval3(self, time: float) -> np.ndarray:
        """Return position, velocity and acceleration (3, d) at a time."""
        return np.concatenate([self.eval([time], k) for k in range(3)])

    def getBmatrix(
        self,
        sampleTimes: VectorLike,
        startDuplicates: bool = False,
        endDuplicates: bool = False,
    ) -> np.ndarray:
        """Return the matrix (m, n) by which control points give positions.

        Args:
            sampleTimes: times (m,) of the positions.
            startDuplicates: whether the first point stands for its doubles, too.
            endDuplicates: whether the last point stands for its doubles, too.
        """
        basis = BSpline()
        basis._degree, basis._knots = self._degree, self._knots
        basis._points = np.eye(len(self._knots) - self._degree - 1)
        B, copies = basis.eval(sampleTimes), self._degree // 2
        if startDuplicates and copies:
            B = np.column_stack([B[:, : copies + 1].sum(1), B[:, copies + 1 :]])
        if endDuplicates and copies:
            B = np.column_stack([B[:, : -copies - 1], B[:, -copies - 1 :].sum(1)])
        return B

    def append(
        self, points: MatrixLike, times_rel: VectorLike, inside: bool = False
    ) -> None:
        """Append control points (k, d).

        Args:
            points: the points.
            times_rel: times (k,) of the points after the present end [s].
            inside: whether the spline does not come to rest at the present end.
        """
        points = np.atleast_2d(np.asarray(points, float))
        t, p = self._domain()
        copies = p // 2
        times = t[-1] + np.ravel(np.asarray(times_rel, float))
        start = self._points[: len(self._points) - copies * inside]
        last = np.repeat(points[-1:], copies, 0)
        self._points = np.concatenate([start, points, last])
        num_inner = len(times) - p % 2
        first = t[: len(self._points) - num_inner]
        ends = np.concatenate([first[-1:], times])
        inner = times[:-1] if p % 2 else (ends[1:] + ends[:-1]) / 2
        self._knots = np.concatenate([first, inner, np.full(p + 1, times[-1])])

    def overwriteSmooth(
        self, points: MatrixLike, times_rel: VectorLike, time_cut: float
    ) -> None:
        """Go on from position and velocity at a time through other control points.

        Args:
            points: the points (k, d).
            times_rel: times (k,) of the points after the cut [s].
            time_cut: time from which on the spline changes [s].
        """
        x, v, _ = self.eval3(time_cut)
        times = time_cut + np.array([0.0, *np.ravel(times_rel)])
        self.set(self._degree, np.vstack([x, np.atleast_2d(points)]), times, v)

    def _domain(self) -> tuple[np.ndarray, int]:
        if not self._points.size:
            raise pw.ObjectiveError(
                "The spline has no control points; call set or setCtrlPoints."
            )
        return self._knots, self._degree
