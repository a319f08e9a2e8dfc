"""COLLADA meshes: units, scenes, and what exporters leave in them."""

import sys

import numpy as np
import pytest

from posewise.robots.errors import ConfigError
from posewise.robots.geometry.mesh_files import read_mesh

pytest.importorskip("collada", reason=".dae needs pycollada")

GEOMETRY = """<geometry id="g"><mesh><source id="p">
<float_array id="a" count="12">0 0 0 100 0 0 0 200 0 0 0 300</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X"
 type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/>
</vertices>{0}</mesh></geometry>"""
VERTEX = '<input semantic="VERTEX" source="#v" offset="0"/>'
TRIANGLES = f'<triangles count="4">{VERTEX}<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>'
POLYGONS = (
    f'<polylist count="4">{VERTEX}<vcount>3 3 3 3</vcount>'
    "<p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist>"
)
LINES = f'<lines count="1">{VERTEX}<p>0 1</p></lines>'
INSTANCE = '<instance_geometry url="#g"/>'
NODE = '<node id="n{0}">{1}</node>'


def dae(
    asset: str = '<unit meter="0.001"/>',
    primitives: str = TRIANGLES,
    nodes: str = NODE.format(1, INSTANCE),
    more: str = "",
) -> str:
    return (
        '<?xml version="1.0"?><COLLADA version="1.4.1"'
        ' xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset>'
        f"<created>2020-01-01T00:00:00</created>{asset}</asset>{more}"
        f"<library_geometries>{GEOMETRY.format(primitives)}</library_geometries>"
        f'<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene>'
        "</COLLADA>"
    )


SCALED = NODE.format(2, "<scale>2 2 2</scale>" + INSTANCE)
TURNED = NODE.format(
    3, "<translate>0 0 100</translate><rotate>1 0 0 90</rotate>" + INSTANCE
)
NESTED = NODE.format(4, "<matrix>1 0 0 500 0 1 0 0 0 0 1 0 0 0 0 1</matrix>" + SCALED)
BROKEN_MATERIAL = (
    '<instance_geometry url="#g"><bind_material><technique_common>'
    '<instance_material symbol="x" target="#nothere"/></technique_common>'
    "</bind_material></instance_geometry>"
)
MATERIAL = """<library_materials><material id="m"><instance_effect url="#e"/></material>
</library_materials>"""
LIBRARY = f"<library_nodes>{SCALED}</library_nodes>"
CASES = {
    "millimetres": (dae(), [0.1, 0.2, 0.3]),
    "inches": (dae('<unit name="inch" meter="0.0254"/>'), [2.54, 5.08, 7.62]),
    "centimetres": (dae('<unit meter="1e-2"/>'), [1, 2, 3]),
    "metres": (dae('<unit name="meter" meter="1"/>'), [100, 200, 300]),
    "no unit": (dae(""), [100, 200, 300]),
    "unit without a length": (dae('<unit name="meter"/>'), [100, 200, 300]),
    "Y up": (dae('<unit meter="0.001"/><up_axis>Y_UP</up_axis>'), [0.1, 0.2, 0.3]),
    "X up": (dae('<unit meter="0.001"/><up_axis>X_UP</up_axis>'), [0.1, 0.2, 0.3]),
    "Z up": (dae('<unit meter="0.001"/><up_axis>Z_UP</up_axis>'), [0.1, 0.2, 0.3]),
    "polygons": (dae(primitives=POLYGONS), [0.1, 0.2, 0.3]),
    "lines too": (dae(primitives=LINES + TRIANGLES + LINES), [0.1, 0.2, 0.3]),
    "two materials": (dae(primitives=TRIANGLES + POLYGONS), [0.1, 0.2, 0.3]),
    "two nodes": (dae(nodes=NODE.format(1, INSTANCE) + SCALED), [0.2, 0.4, 0.6]),
    "turned": (dae(nodes=TURNED), [0.1, 0.3, 0.2]),
    "nested": (dae(nodes=NODE.format(1, INSTANCE) + NESTED), [0.7, 0.4, 0.6]),
    "empty nodes": (dae(nodes=NODE.format(9, "") + SCALED), [0.2, 0.4, 0.6]),
    "unknown part": (
        dae(nodes=NODE.format(9, '<instance_geometry url="#no"/>') + SCALED),
        [0.2, 0.4, 0.6],
    ),
    "library": (
        dae(more=LIBRARY, nodes=NODE.format(1, '<instance_node url="#n2"/>')),
        [0.2, 0.4, 0.6],
    ),
    "broken material": (dae(nodes=NODE.format(1, BROKEN_MATERIAL)), [0.1, 0.2, 0.3]),
    "broken effect": (dae(more=MATERIAL), [0.1, 0.2, 0.3]),
}


@pytest.mark.parametrize("text, extents", CASES.values(), ids=CASES)
def test_scenes_and_units(text, extents, tmp_path):
    path = tmp_path / "m.DAE"
    path.write_text(text)
    mesh = read_mesh(path)
    np.testing.assert_allclose(mesh.extents, extents, rtol=1e-6)
    # The axis "up" is not applied: x of the file is x of the mesh.
    if "scale" not in text and "rotate" not in text:
        assert mesh.bounds[1] == pytest.approx(extents, rel=1e-6)


EDGE = pytest.mark.edge


@pytest.mark.parametrize(
    "length",
    ["-1", *(pytest.param(text, marks=EDGE) for text in ("0", "inf", "0,001"))],
)
def test_units_that_are_no_lengths(length, tmp_path):
    path = tmp_path / "m.dae"
    path.write_text(dae(f'<unit meter="{length}"/>'))
    with pytest.raises(ConfigError, match="m.dae: .* is no (length|number)"):
        read_mesh(path)


def test_without_pycollada_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "m.dae"
    path.write_text(dae())
    monkeypatch.setitem(sys.modules, "collada.common", None)
    monkeypatch.setitem(sys.modules, "collada", None)
    with pytest.raises(ImportError, match=r"pycollada: pip install .*\[meshes\]"):
        read_mesh(path)
