"""The tree of links in a URDF: names, and the joint above each link."""

from collections.abc import Collection

from ...errors import unknown_name
from ..xmltree import XmlElement

PARSED_TAGS = frozenset(("link", "joint", "material"))
"""Tags of the elements of a URDF that are read; xacro elsewhere does no harm."""


def refuse_xacro(root: XmlElement, tags: Collection[str] = PARSED_TAGS) -> None:
    """Raise an error for unprocessed xacro in the elements of tags that are read."""
    parts = [e for child in root if child.tag in tags for e in child.iter()]
    for element in [root, *root, *parts]:
        values = element.attrib.values() if element in parts else ()
        value = next((v for v in values if "${" in v or "$(" in v), None)
        if element.tag.startswith("xacro:") or value is not None:
            subject = f"the tag {element.tag!r}" if value is None else repr(value)
            raise element.error(
                f"{subject} is xacro, expected plain XML; name the file .xacro, or"
                " pass xacro_args={}, to process it."
            )


def elements_by_name(root: XmlElement, tag: str) -> dict[str, XmlElement]:
    """Return the elements of a tag by name."""
    elements: dict[str, XmlElement] = {}
    for element in root.findall(tag):
        name = element.required("name")
        if name in elements:
            raise element.error(
                f"the name is already used in line {elements[name].line}; names of"
                f" {tag}s must be unique."
            )
        elements[name] = element
    return elements


def linked_name(joint: XmlElement, tag: str) -> str:
    """Return the link that a joint's `<parent>` or `<child>` names."""
    end = joint.find(tag)
    if end is None:
        raise joint.error(f'has no <{tag}>; write <{tag} link="..."/>.')
    return end.required("link")


def parent_joints(
    links: dict[str, XmlElement], joints: dict[str, XmlElement]
) -> dict[str, XmlElement]:
    """Return the joint above each child link."""
    above: dict[str, XmlElement] = {}
    for joint in joints.values():
        for tag in ("parent", "child"):
            name = linked_name(joint, tag)
            if name not in links:
                raise joint.error(f"its {tag}: {unknown_name('link', name, links)}")
        child = linked_name(joint, "child")
        if child in above:
            other = above[child].required("name")
            raise joint.error(
                f"link {child!r} is already the child of joint {other!r} (line"
                f" {above[child].line}); a link has one parent, so close loops"
                " elsewhere."
            )
        above[child] = joint
    return above


def parents_first(
    links: dict[str, XmlElement], above: dict[str, XmlElement]
) -> list[str]:
    """Return link names in file order, except that parents precede their children."""
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise links[roots[1]].error(
            f"there are {len(roots)} root links ({', '.join(map(repr, roots[:5]))}),"
            " expected one; connect them with fixed joints."
        )
    order: dict[str, None] = {}
    for name in links:
        chain: dict[str, None] = {}
        while name not in order:
            if name in chain:
                cycle = list(chain)[list(chain).index(name) :]
                raise above[name].error(
                    f"the links {', '.join(map(repr, cycle[:5]))} form a cycle,"
                    " expected a tree; turn or remove a joint."
                )
            chain[name] = None
            if name not in above:
                break
            name = linked_name(above[name], "parent")
        order.update(dict.fromkeys(reversed(chain)))
    return list(order)
