"""Approximate bodies by the word of a synset: a template and a size."""

from typing import Literal, NamedTuple

BodyTemplate = Literal[
    "ball", "box", "cabinet", "can", "crate", "leaf", "rack", "table", "tree"
]
"""A family of bodies; a leaf is a door or window in its frame, a crate is open on top.
"""


class BodySpec(NamedTuple):
    """A template, and its outer size along x, y and z [m]."""

    template: BodyTemplate
    size: tuple[float, float, float]


DEFAULT_BODY = BodySpec("box", (0.12, 0.08, 0.06))
"""The body of a synset without a known word."""
BALL_WORDS = {
    0.035: "strawberry grape olive raspberry mushroom chestnut radish",
    0.05: "candy egg plum cookie date",
    0.07: "apple orange peach tomato lemon onion",
    0.15: "lettuce broccoli ball melon",
    0.2: "pumpkin",
}
"""Words of balls by diameter [m]."""
CAN_WORDS = {
    (0.07, 0.12): "pop beer can soup glass candle jelly bottle juice water milk",
    (0.08, 0.1): "cup mug yogurt pot",
    (0.09, 0.2): "beverage oil catsup detergent perfume shampoo sauce",
    (0.15, 0.06): "bowl salad casserole",
    (0.24, 0.02): "plate",
    (0.26, 0.06): "pan saucepan cake wreath",
    (0.3, 0.6): "plant",
    (0.3, 1.5): "lamp",
    (0.4, 0.4): "caldron",
    (0.5, 1.6): "agent",
}
"""Words of cylinders by diameter and height [m]."""
BOX_WORDS = {
    (0.03, 0.03, 0.01): "jewelry bracelet earphone bag tea_bag necklace",
    (0.15, 0.015, 0.015): "pen pencil marker highlighter toothbrush spoon",
    (0.2, 0.02, 0.01): "knife fork scraper screwdriver",
    (0.06, 0.06, 0.03): "parsley cracker bow ribbon cheese mousetrap mouse",
    (0.1, 0.06, 0.03): "soap sandwich hamburger sushi calculator makeup sunglass",
    (0.22, 0.15, 0.003): "envelope document tile",
    (0.22, 0.15, 0.03): "book hardback notebook folder newspaper pad",
    (0.25, 0.2, 0.02): "rag cloth piece_of_cloth towel dishtowel hand_towel sock",
    (0.3, 0.25, 0.06): "sweater shirt apparel underwear hat",
    (0.28, 0.1, 0.1): "shoe sandal headset",
    (0.2, 0.15, 0.1): "bread chicken beef pork meat fish food carrot banana",
    (0.2, 0.07, 0.25): "cereal oatmeal sugar flour chip pasta box",
    (0.3, 0.3, 0.3): "plaything cube wrapping alarm",
    (0.4, 0.3, 0.03): "tray sheet painting",
    (0.4, 0.35, 0.3): "printer facsimile scanner modem blender",
    (0.45, 0.3, 0.15): "briefcase duffel_bag pencil_box umbrella",
    (0.5, 0.5, 0.02): "plywood",
    (0.9, 0.3, 0.02): "bookcase_shelf bookcase_top bookcase_baseboard",
    (0.02, 0.3, 1.8): "bookcase_side",
    (0.9, 0.02, 1.8): "bookcase_back",
    (0.3, 0.25, 0.9): "broom vacuum scrub_brush brush dustpan saw hammer",
    (0.5, 0.5, 0.45): "chair toilet seat highchair",
    (0.6, 0.6, 0.9): "stove grill",
    (0.9, 0.9, 0.1): "shower",
    (1.8, 0.8, 0.45): "sofa",
    (2.0, 1.6, 0.5): "bed",
    (2.0, 0.65, 0.9): "countertop counter",
    (3.0, 1.5, 1.3): "vehicle",
}
"""Words of boxes by size [m]."""
TEMPLATE_WORDS: dict[BodyTemplate, dict[tuple[float, float, float], str]] = {
    "cabinet": {
        (0.5, 0.4, 0.3): "microwave",
        (0.6, 0.6, 0.85): "oven dishwasher washer dryer",
        (0.7, 0.7, 1.7): "refrigerator",
        (0.9, 0.5, 1.0): "cabinet wardrobe",
        (3.0, 1.5, 1.3): "car",
    },
    "crate": {
        (0.1, 0.1, 0.14): "jar",
        (0.2, 0.2, 0.08): "dish",
        (0.2, 0.15, 0.15): "teapot kettle",
        (0.15, 0.1, 0.3): "stocking",
        (0.3, 0.3, 0.3): "bucket basket sack package receptacle",
        (0.4, 0.4, 0.5): "bin ashcan",
        (0.4, 0.3, 0.4): "backpack",
        (0.5, 0.4, 0.35): "carton",
        (0.6, 0.5, 0.85): "sink",
        (1.6, 0.75, 0.55): "bathtub",
        (2.0, 1.5, 0.5): "pool tub",
    },
    "leaf": {(0.9, 0.06, 2.0): "door", (1.0, 0.06, 1.9): "window"},
    "rack": {(0.9, 0.35, 1.2): "shelf bookshelf"},
    "table": {(1.2, 0.8, 0.74): "table desk"},
    "tree": {(0.9, 0.9, 1.6): "tree"},
}
"""Words of the other templates by size [m]."""


def _bodies_by_word() -> dict[str, BodySpec]:
    """Return the bodies of all tables by word."""
    bodies: dict[str, BodySpec] = {}
    tables: list[tuple[BodyTemplate, dict[tuple[float, float, float], str]]] = [
        ("ball", {(d, d, d): words for d, words in BALL_WORDS.items()}),
        ("can", {(d, d, h): words for (d, h), words in CAN_WORDS.items()}),
        ("box", BOX_WORDS),
        *TEMPLATE_WORDS.items(),
    ]
    for template, sizes in tables:
        for size, words in sizes.items():
            bodies |= dict.fromkeys(words.split(), BodySpec(template, size))
    return bodies


BODY_BY_WORD = _bodies_by_word()
"""Bodies by word."""


def body_of_synset(synset: str) -> BodySpec:
    """Return the body of a synset.

    By its word, `electric_refrigerator` of electric_refrigerator.n.01; else by the last
    part of the word, `refrigerator`; else `DEFAULT_BODY`.
    """
    word, last = _words(synset)
    return BODY_BY_WORD.get(word) or BODY_BY_WORD.get(last, DEFAULT_BODY)


def has_known_size(synset: str) -> bool:
    """Return whether the body of a synset is that of its word, not the default one."""
    return any(word in BODY_BY_WORD for word in _words(synset))


def synset_word(synset: str) -> str:
    """Return the word of a synset, `electric_refrigerator` of its first sense."""
    return synset.partition(".")[0]


def _words(synset: str) -> tuple[str, str]:
    """Return the word of a synset, and the last part of it."""
    word = synset_word(synset)
    return word, word.rpartition("_")[2]
