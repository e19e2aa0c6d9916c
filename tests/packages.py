"""Packages of strangers: made on the spot, and installed where their folder is put on the path; or imported at their first use."""

from importlib import import_module
from pathlib import Path
from typing import Any

ASSISTANT = """
from argparse import ArgumentParser, Namespace
from treadle import FunctionToolset, Limits, allow, ask, deny, tool
from treadle.assistant import Assistant, Command, Host, Panel

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


class Deferred:
    """A module that is imported at its first use, where every process that collects tests would take seconds to import it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "pytest")):  # pytest looks for marks and fixtures in everything that a module has
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
