"""Packages of strangers, made on the spot: modules, and what they register. Put their folder on the path to have them installed."""

from pathlib import Path

ASSISTANT = """
from argparse import ArgumentParser, Namespace
from treadle import Assistant, Command, FunctionToolset, Host, Limits, Panel, allow, ask, deny, tool

@tool(effect="read")
def look(thing: str) -> str:
    '''Look at a thing.'''
    return f"a look at {thing}"

@tool(effect="write")
def change(thing: str) -> str:
    '''Change a thing.'''
    return f"{thing} is changed"

"""


def install(folder: Path, package: str, module: str, source: str, **assistants: str) -> Path:
    """A package with one module that registers assistants: NAME=VALUE in that module. The folder to put on the path."""
    (folder / f"{module}.py").write_text(ASSISTANT + source)
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    points = "\n".join([f"{name} = {module}:{value}" for name, value in assistants.items()])
    (info / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n[treadle.assistants]\n{points}\n\n[other]\na = b\n")
    return folder
