"""Folders of ROS packages on the command line and in problem files."""

import pytest
import trimesh

from posewise.__main__ import main
from posewise.cli.problem_file import read_problem
from posewise.cli.yaml_entries import ProblemError

URDF = """<robot name="r"><link name="a"><collision><geometry>
<mesh filename="package://parts/m.stl"/></geometry></collision></link></robot>"""
SCENE = """\
scene:
  models: [table]
  files: [{{file: r.urdf, joint: free, pose: [0, 0, 9, 1, 0, 0, 0]{packages}}}]
  mark: {{a: {{}}}}
predicates: ["~OnTopOf(a, table)"]
"""


@pytest.fixture
def folder(tmp_path):
    """A robot whose mesh is in a package that only its folder's owner knows."""
    for place in ("task/own", "elsewhere/x"):
        (tmp_path / place).mkdir(parents=True)
        trimesh.creation.box().export(tmp_path / place / "m.stl")
    (tmp_path / "task/r.urdf").write_text(URDF)
    return tmp_path


def problem(folder, packages=""):
    file = folder / "task/p.yaml"
    file.write_text(SCENE.format(packages=packages))
    return file


def test_a_problem_file_names_folders_beside_it(folder):
    C = read_problem(problem(folder, ", packages: {parts: own}")).world
    assert C.frame("a").shape.source == (folder / "task/own/m.stl").resolve()
    assert C.nq == 7
    for name, says in [("../elsewhere/x", "lies outside"), ("no", "is no folder")]:
        file = problem(folder, f", packages: {{parts: {name}}}")
        with pytest.raises(ProblemError, match=rf"packages.parts: .*{says}"):
            read_problem(file)


def test_the_command_line_names_any_folder(folder, capsys):
    file, option = str(problem(folder)), f"parts={folder}/elsewhere/x"
    with pytest.warns(UserWarning, match=r"Pass packages=\{'parts': folder\}"):
        read_problem(problem(folder))
    assert main(["check", file, "--package", option]) == 0
    assert main(["check", file, "--package", "parts=no/such"]) == 2
    assert "'parts'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", file, "--package", "parts"])
    assert "expected NAME=FOLDER" in capsys.readouterr().err


def test_view_and_demo_take_packages(folder):
    from posewise.demo import load_robot
    from posewise.robots.errors import ConfigError

    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    page, robot = folder / "page.html", folder / "task/r.urdf"
    option = ["--package", f"parts={folder}/elsewhere/x"]
    assert main(["view", str(robot), *option, "--html", str(page)]) == 0
    with pytest.raises(ConfigError, match="Give --tip"):
        load_robot(robot, None, 0, {"parts": folder / "elsewhere/x"})
