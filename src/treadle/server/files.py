"""A folder of files for browsers: asked about at every use, sent only when they have changed, and never anything outside."""

import os
from pathlib import PurePath

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

TYPES = {  # what a system says of these varies, and a browser runs no script of a wrong type
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


class Folder(StaticFiles):
    """Files with their types. Browsers keep them, and ask each time whether they are still the same."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, or that it hasn't changed."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = "no-cache"
        known = TYPES.get(PurePath(full_path).suffix.lower())
        if known and response.status_code != 304:
            response.headers["content-type"] = known
        return response
