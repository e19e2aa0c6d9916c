"""HTML to Markdown in linear time: unread elements are dropped while parsing, and nesting is limited.

Needs Beautiful Soup and markdownify, so it is imported when a page is read (`html`).
"""

import re
from importlib import import_module
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import PreformattedString, Tag  # comments, declarations and the like

from treadle.assistants.courses.material.course_types import extract_web_link
from treadle.passages import UnreadableDocument

_Converter: Any = import_module("markdownify").MarkdownConverter  # it has no types
MAX_NESTING = 200  # elements in one another; pages that people write have some thirty
MAX_INDENTS = 12  # lists and quotes in one another that are still told apart
_INDENTING = frozenset(("blockquote", "ol", "ul"))
_DECLARED = re.compile(r"<\?xml", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f\v]{2,}")
SKIPPED_TAGS = frozenset(
    ("script", "style", "nav", "footer", "template", "noscript", "svg", "iframe", "object", "button", "select", "input")
)


class _Element(Tag):
    """An element with a fast parent lookup: the converter does one for each element."""

    def find_parent(self, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the nearest parent with a name, or by other criteria."""
        if isinstance(name, str) and not args and not kwargs:
            return next((each for each in self.parents if each.name == name), None)
        return super().find_parent(name, *args, **kwargs)


class FilteredSoup(BeautifulSoup):
    """A page as a tree, without unread elements and comments; of a picture, its alternative text.

    Removing something from a finished tree takes time by the number of its siblings.
    """

    def __init__(self, html: str) -> None:
        self._unread: list[str] = []  # elements that are open and aren't read, the outermost first
        # a text without any tag would be taken for the name of a file; the newline says it isn't
        super().__init__(f"{_drop_unclosed(html)}\n", "html.parser", element_classes={Tag: _Element})

    def handle_starttag(self, name: str, namespace: Any, nsprefix: Any, attrs: Any, *args: Any, **kwargs: Any) -> Any:
        """Open an element, unless it is skipped."""
        if len(self.tagStack) + len(self._unread) > MAX_NESTING:
            raise UnreadableDocument("its elements are nested too deeply")
        if self._unread or name in SKIPPED_TAGS:
            if not self.builder.can_be_empty_element(name):
                self._unread.append(name)
            return None
        if name == "img":
            self.handle_data(attrs.get("alt") or "")
            return None
        return super().handle_starttag(name, namespace, nsprefix, attrs, *args, **kwargs)

    def handle_endtag(self, name: str, nsprefix: Any = None) -> None:
        """Close an element, and those in it that are still open."""
        if name in self._unread:
            while self._unread.pop() != name:
                pass
        elif not self._unread or self.open_tag_counter.get(name):
            self._unread.clear()
            super().handle_endtag(name, nsprefix)

    def handle_data(self, data: str) -> None:
        """Add text, unless it is skipped."""
        if not self._unread:
            super().handle_data(data)

    def endData(self, containerClass: Any = None) -> None:  # noqa: N802, N803 - as the parser calls it
        """End a text node; comments and the like are dropped."""
        if containerClass is not None and issubclass(containerClass, PreformattedString):
            self.current_data = []
            return
        if not self.preserve_whitespace_tag_stack:  # long blanks take the converter's expressions time by their square
            self.current_data = [_BLANKS.sub(_collapse_blank, "".join(self.current_data))] if self.current_data else []
        super().endData(containerClass)


def _collapse_blank(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def _drop_unclosed(html: str) -> str:
    """Drop unclosed openings from the page: the parser searches all that follows for each one's end.

    A marked section ends at the next `>`, as in browsers, and the rest of an unfinished comment isn't text.
    """
    html = _DECLARED.sub("<?", html.replace("<![", "<?["))  # nor is a page that calls itself XML anything else than a page
    unfinished = html.find("<!--", html.rfind("-->") + 1)
    html = html if unfinished < 0 else html[:unfinished]
    last = html.rfind(">") + 1
    return html[:last] + html[last:].replace("<", "&lt;")


class HtmlToMarkdown(_Converter):
    """Markdown without links that can't be followed from here, and without the page's head."""

    def __init__(self) -> None:
        self._base: Any = super()
        self._base.__init__(
            heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False, table_infer_header=True
        )
        self._items: dict[int, int] = {}  # of each numbered list, by its identity, those so far

    def convert_head(self, *_: Any, **__: Any) -> str:
        """Drop the head: its title is known."""
        return ""

    convert_title = convert_head

    def convert_a(self, el: Any, text: str, parent_tags: Any) -> str:
        """Keep links to the web."""
        return self._base.convert_a(el, text, parent_tags) if extract_web_link(el.get("href") or "") else text

    def convert_blockquote(self, el: Any, text: str, parent_tags: Any) -> str:
        """Mark the lines of a quote."""
        return self._base.convert_blockquote(el, text, parent_tags) if _is_indented(el) else f"\n{text.strip()}\n\n"

    def convert_li(self, el: Any, text: str, parent_tags: Any) -> str:
        """Number an item by those before it; counting them for each would take quadratic time."""
        parent = el.parent
        number = self._items[id(parent)] = self._items.get(id(parent), -1) + 1
        if not _is_indented(el):
            return f"{text.strip()}\n"
        if parent.name != "ol":
            return self._base.convert_li(el, text, parent_tags)
        text = text.strip()
        if not text:
            return "\n"
        start = str(parent.get("start") or "")
        bullet = f"{(int(start) if start.isdecimal() else 1) + number}. "
        first, *others = text.split("\n")
        return "\n".join([bullet + first, *[f"{' ' * len(bullet)}{line}" if line else "" for line in others]]) + "\n"


def _is_indented(element: Any) -> bool:
    """Return whether an element's content is still indented: each level adds to every line in it."""
    return sum(each.name in _INDENTING for each in element.parents) < MAX_INDENTS
