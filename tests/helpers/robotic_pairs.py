"""Random trees of spheres; as a script: the pairs that `robotic` lets collide.

Prints a JSON object: for each tree index pairs, for each of `FILES` pairs of names.
"""

import json
import random

KINDS = [None, None, "hingeX", "transXYPhi", "quatBall", "free", "rigid"]
FILES = {"panda": ["panda/panda.g"], "pr2": ["pr2/pr2.g", "objects/kitchen.g"]}


def trees(count=150):
    """Lists of (parent, joint, contact, active) by frame; parents may come later."""
    forest = []
    for seed in range(count):
        r = random.Random(seed)
        n = r.randint(2, 12)
        order = list(range(n))
        r.shuffle(order)
        rows = [None] * n
        for rank, i in enumerate(order):
            up = order[r.randrange(max(0, rank - 3), rank)] if rank else None
            up = up if r.random() < 0.9 else None
            joint = None if up is None else r.choice(KINDS)
            contact = r.choice([0, 1, 1, 2, -1, -1, -2, -3])
            rows[i] = (up, joint, contact, bool(seed % 3) or r.random() < 0.5)
        forest.append(rows)
    return forest


def _pairs(flat):
    return [[flat[k], flat[k + 1]] for k in range(0, len(flat), 2)]


def _tree_pairs(ry, rows):
    C = ry.Config()
    frames = [C.addFrame(str(i)) for i in range(len(rows))]
    for frame, (_, _, contact, _) in zip(frames, rows, strict=True):
        frame.setShape(ry.ST.sphere, [0.1]).setContact(contact)
    for frame, (up, joint, _, _) in zip(frames, rows, strict=True):
        if up is not None:
            frame.setParent(frames[up])
        if joint is not None:
            frame.setJoint(getattr(ry.JT, joint))
    moving = [i for i, row in enumerate(rows) if row[1] not in (None, "rigid")]
    C.selectJoints([str(i) for i in moving if rows[i][3]])
    return _pairs([int(name) for name in C.getCollidablePairs()])


def _file_pairs(ry, files):
    C = ry.Config()
    for file in files:
        C.addFile(ry.raiPath(file))
    return _pairs(C.getCollidablePairs())


if __name__ == "__main__":
    import robotic

    pairs = {"trees": [_tree_pairs(robotic, rows) for rows in trees()]}
    pairs |= {name: _file_pairs(robotic, files) for name, files in FILES.items()}
    print("RESULT " + json.dumps(pairs))
