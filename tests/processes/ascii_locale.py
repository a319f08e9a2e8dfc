"""Write and read files with names in Greek; the caller sets an ASCII locale."""

import os
import sys
from pathlib import Path

import jax
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2])]
jax.config.update("jax_enable_x64", True)

import posewise as pw  # noqa: E402
import posewise.rai as ry  # noqa: E402
from posewise.__main__ import main  # noqa: E402

assert sys.stdout.encoding == sys.getfilesystemencoding() == "ascii"
folder = Path(sys.argv[1])
C = pw.Config()
C.add_frame("π", joint="hingeZ", limits=[[-1], [1]], shape=pw.Capsule(0.2, 0.1))
C.add_frame("ρ", "π", position=[1, 0, 0], shape=pw.Ellipsoid([0.1, 0.2, 0.3]))
C.add_frame("σ", "π", position=[2, 0, 0], shape=pw.Ellipsoid([0.2, 0.2, 0.3]))
C.joints.add_named_state("τ", {"π": 0.2})
C.write_urdf(folder / "w.urdf", name="φ")
C.pairs.write_srdf(folder / "w.srdf")
D = pw.Config()
D.add_file(folder / "w.urdf")
D.pairs.read_srdf(folder / "w.srdf")
assert (
    D.frame_names == ("world", "π", "ρ", "σ")
    and D.joints.named_states == C.joints.named_states
)
extents = [D.frame(name).shape.mesh.extents.max() for name in "ρσ"]
np.testing.assert_allclose(extents, 0.6, rtol=1e-2)

still = np.zeros((3, 1))
mesh = D.frame("ρ").shape.source
os.replace(mesh, os.fsencode(mesh.parent) + "/π.stl".encode())
text = (folder / "w.urdf").read_text(encoding="utf-8").replace(mesh.name, "π.stl")
renamed = Path(os.fsdecode(os.fsencode(mesh.parent) + "/π.stl".encode()))
E = pw.Config()
E.add_text(text, folder=folder)
assert E.frame("ρ").shape.source == renamed

path = pw.Trajectory(("π",), np.arange(3.0), still, still, still)
for name in ("t.csv", "t.json", "t.npz"):
    path.save(folder / name)
    assert pw.Trajectory.load(folder / name).joint_names == ("π",)

R = ry.Config()
R.addFrame("π").setShape(ry.ST.capsule, [0.2, 0.1])
assert '<link name="π"' in R.writeURDF()

problem = """scene:
  objects: {"π": {parts: [{shape: Sphere(0.1)}]}, "ρ": {parts: [{shape: Sphere(0.1)}]}}
predicates: ["Touching(π, ρ)"]
"""
(folder / "p.yaml").write_text(problem, encoding="utf-8")
result = folder / "r.json"
assert main(["check", str(folder / "p.yaml"), "--json", str(result)]) == 0
assert "Touching" in result.read_text(encoding="utf-8")
assert main(["solve", str(folder / "nothere_π.yaml")]) == 2
