"""A planar arm."""

import posewise as pw
from helpers.predicate_scenes import at


def planar() -> pw.Config:
    """Two links, a target and a post; the links are boxes."""
    C = pw.Config()
    link = pw.Box([0.4, 0.04, 0.04])
    parent = "world"
    for k in range(3):
        where = [0.4 * (k > 0), 0, 0]
        C.add_frame(f"arm{k}", parent, joint="hingeZ", position=where, q=[0.5])
        C.add_frame(f"link{k}", f"arm{k}", position=[0.2, 0, 0], shape=link)
        parent = f"arm{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0])
    C.add_frame("goal", joint="transX", q=[0.7])
    C.add_object("post", [(pw.Box([0.1, 0.1, 0.5]), None)], pose=at(0.35))
    return C
