"""Mistakes in the use of xacro files: what the messages say."""

import warnings

import pytest

import posewise as pw

pytest.importorskip("xacro", reason="xacro files need the package xacro")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
WITH_ARGUMENTS = f"""{HEAD}
<xacro:arg name="prefix" default="x_"/><xacro:arg name="reach" default="1"/>
<link name="$(arg prefix)a"/></robot>"""


@pytest.fixture
def load(tmp_path):
    """A function that loads a text as a xacro file, and returns names of frames."""

    def load(text, **options):
        file = tmp_path / "m.xacro"
        file.write_text(text)
        return pw.Config().add_file(file, **options)

    return load


def test_unused_arguments_are_named_with_the_known_ones(load):
    with pytest.warns(UserWarning) as records:
        names = load(WITH_ARGUMENTS, xacro_args={"prefx": "l_", "nope": 1, "reach": 2})
    (warning,) = records
    assert names == ("x_a",)
    message = str(warning.message)
    assert "No argument 'prefx'; did you mean 'prefix'?" in message
    assert "No argument 'nope'; there are: 'prefix', 'reach'." in message


def test_arguments_that_are_used_cost_nothing(load):
    text = f'{HEAD}<link name="$(arg undeclared)"/></robot>'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(text, xacro_args={"undeclared": "u"}) == ("u",)
        assert load(WITH_ARGUMENTS, xacro_args={"prefix": "l_"}) == ("l_a",)


@pytest.mark.parametrize(
    "file, says",
    [
        (
            "package://parts/urdf/a.xacro",
            r"xacro knows no package://.*filename='\$\(find parts\)/urdf/a.xacro'",
        ),
        ("nothere.xacro", r"nothere.xacro': No such file.*mend the name in"),
    ],
)
def test_includes_that_are_not_there(file, says, load):
    text = f'{HEAD}<xacro:include filename="{file}"/><link name="a"/></robot>'
    with pytest.raises(pw.LoadError, match=says) as caught:
        load(text)
    assert "m.xacro: xacro cannot expand" in str(caught.value)


def test_macros_that_nobody_calls(load):
    macro = '<xacro:macro name="arm" params="p"><link name="${p}a"/></xacro:macro>'
    with pytest.raises(pw.LoadError, match=r"defines macros \(arm\) but calls none"):
        load(f"{HEAD}{macro}</robot>")
    assert load(f'{HEAD}{macro}<xacro:arm p="l_"/></robot>') == ("l_a",)
    with pytest.raises(pw.LoadError, match="has no <link>"):
        load(f"{HEAD}</robot>")
