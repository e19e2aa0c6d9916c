"""Outlines made by hand, for tests of what is done with them."""

from treadle.assistants.reading.file_parts import split_parts
from treadle.assistants.reading.outline.nodes import ImportInfo, Node, Outline
from treadle.assistants.reading.source_files import build_source


def node(kind, name, start, end, *children, uses=(), **more):
    return Node(kind=kind, type=kind, name=name, signature=name, start=start, end=end, uses=tuple(uses), children=children, **more)


def imports(start, *names, source="os"):
    found = ImportInfo(kind="named", source=source, names=names, default="", namespace="")
    return node("import", "", start, start, imported=found)


def outline(*nodes, lines=None, doc=""):
    return Outline(language="python", lines=lines or max(n.end for n in nodes), nodes=nodes, doc=doc, broken=False, note="")


def parts(*nodes):
    return split_parts(outline(*nodes))


# Two things that have nothing to do with each other: a shelf with its errors, and prices.
SHOP = (
    imports(1, "path", source="os"),
    imports(2, "Decimal", source="decimal"),
    node("constant", "RATE", 4, 4, uses=["Decimal"]),
    node("class", "Empty", 6, 7),
    node(
        "class",
        "Shelf",
        9,
        30,
        node("method", "put", 12, 18, uses=["path"]),
        node("method", "take", 20, 30, uses=["Empty"]),
        uses=["path", "Empty"],
    ),
    node("function", "price", 32, 36, uses=["RATE"]),
    node("function", "total", 38, 44, uses=["price", "Decimal"]),
    node("function", "restock", 46, 50, uses=["Shelf"]),
)


def source(*nodes, lines=50, filename="shop.py", doc=""):
    """A file of so many lines, with this outline."""
    text = "".join(f"line {number}\n" for number in range(1, lines + 1))
    return build_source(filename, text, outline(*(nodes or SHOP), lines=lines, doc=doc))


ANSWER = {
    "file_intent": "Keeps a shop's shelf and knows its prices.",
    "responsibilities": [
        {"label": "Keeping the shelf", "description": "Puts and takes.", "ranges": [[1, 1], [6, 30]]},
        {"label": "Knowing prices", "description": "Adds up.", "ranges": [[2, 4], [32, 44]]},
        {"label": "Filling it up", "description": "Orders.", "ranges": [[46, 50]]},
    ],
}

# The same of the groups that are found in code.
DESCRIPTIONS = {
    "file_intent": "Keeps a shop's shelf and knows its prices.",
    "part_1_Shelf": {"description": "Puts and takes.", "label": "Keeping the shelf"},
    "part_2_total": {"description": "Adds up.", "label": "Knowing prices"},
    "part_3_restock": {"description": "Orders.", "label": "Filling it up"},
}
