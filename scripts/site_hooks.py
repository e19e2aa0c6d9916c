"""MkDocs hooks of the documentation site (`mkdocs.yml`).

They add the repository's Markdown pages outside of `docs/` to the site, translate links between all of them, and report every
resource that a page would load from another host. A warning ends a strict build.
"""

import logging
import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
OUTSIDE = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "bench/results/*.md",
    "examples/**/README.md",
)
HOME = "README.md"  # of the repository: the site has a home page of its own

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
EXTERNAL = re.compile(r"(?:https?:)?//", re.IGNORECASE)
STYLE_URL = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)

log = logging.getLogger("mkdocs.hooks.site")


def outside_pages() -> list[str]:
    """Return the pages outside of `docs/` that the site has, as paths in the repository."""
    return sorted(path.relative_to(ROOT).as_posix() for pattern in OUTSIDE for path in ROOT.glob(pattern))


def expand_nav(nav: list[Any]) -> list[Any]:
    """Return a navigation in which each pattern (`decisions/*.md`) is replaced by the pages that match it, `README.md` first."""
    expanded: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            expanded.append({title: expand_nav(below) if isinstance(below, list) else below for title, below in item.items()})
        elif "*" in item:
            pages = (path.relative_to(ROOT / DOCS).as_posix() for path in (ROOT / DOCS).glob(item))
            expanded += sorted(pages, key=lambda page: (not page.endswith("/README.md"), page.removesuffix(".md")))
        else:
            expanded.append(item)
    return expanded


def site_path(path: str, outside: list[str]) -> str | None:
    """Return a repository file's path in the site, None if the site doesn't have it."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return "README.md" if path == HOME else path if path in outside else None


def translate_links(markdown: str, page: str, outside: list[str]) -> str:
    """Return the text of a page with links that work in the site; a link to a file outside of the site becomes its text."""
    here = posixpath.dirname(page)
    at = site_path(page, outside) or page

    def translated(match: re.Match[str]) -> str:
        target, hash_sign, anchor = match[3].partition("#")
        if not target or EXTERNAL.match(target) or target.startswith("mailto:"):
            return match[0]
        found = site_path(posixpath.normpath(posixpath.join(here, target)), outside)
        if found is None:
            return match[2]
        relative = posixpath.relpath(found, posixpath.dirname(at) or ".")
        return f"{match[1]}[{match[2]}]({relative}{hash_sign}{anchor})"

    pieces, end = [], 0
    for fence in FENCE.finditer(markdown):  # code is left as it is
        pieces += [LINK.sub(translated, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*pieces, LINK.sub(translated, markdown[end:])])


class ResourceParser(HTMLParser):
    """Collects the addresses on other hosts that a browser would request for a page; links are only followed, not requested."""

    def __init__(self) -> None:
        super().__init__()
        self.external: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the resources of a start tag."""
        self._in_style = tag == "style"
        for name, value in attrs:
            loads = name in ("src", "srcset", "poster", "data") or (name == "href" and tag in ("link", "use", "image"))
            if value and loads and EXTERNAL.match(value.strip()):
                self.external.append(value)
            elif value and name == "style":
                self.external += STYLE_URL.findall(value)

    def handle_data(self, data: str) -> None:
        """Collect the resources of a style element."""
        if self._in_style:
            self.external += STYLE_URL.findall(data)


def external_resources(html: str) -> list[str]:
    """Return the addresses on other hosts that a browser would request for a page."""
    parser = ResourceParser()
    parser.feed(html)
    return parser.external


# Called by MkDocs


def on_config(config: Any) -> Any:
    """Expand the navigation, and make anchors as GitHub does, so that links to them work in both places."""
    from pymdownx.slugs import slugify  # only in the environment that builds the site

    config.nav = expand_nav(config.nav)
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside of `docs/`."""
    from mkdocs.structure.files import File

    for path in outside_pages():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Translate the links of a page."""
    uri = page.file.src_uri
    outside = outside_pages()
    return translate_links(markdown, uri if uri in outside else DOCS + uri, outside)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Report resources on other hosts."""
    for address in external_resources(output):
        log.warning("%s loads %s from another host.", page.file.src_uri, address)
    return output


def on_post_build(config: Any) -> None:
    """Report resources on other hosts in style sheets."""
    for path in Path(config.site_dir).rglob("*.css"):
        for address in STYLE_URL.findall(path.read_text()):
            log.warning("%s loads %s from another host.", path.name, address)
