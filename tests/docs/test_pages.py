"""What the pages say is true: links and anchors lead somewhere, modules are all named, and the code in them runs."""

import re
import sys
from pathlib import Path

import pytest

from cli.forkserver import ran

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "examples" / "README.md", ROOT / "bench" / "README.md"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", without_code(page))
    local = [(link, anchor) for link, anchor in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link, _ in local if not (page.parent / link).exists()] == []
    targets = [(page.parent / link if link else page, anchor) for link, anchor in local if anchor]
    assert [f"{target.name}#{anchor}" for target, anchor in targets if anchor not in anchors(target)] == []


def without_code(page: Path) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in plain}


def test_every_module_has_a_line_as_it_is_now():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import modules
    finally:
        sys.path.pop(0)
    assert modules.page() == modules.PAGE.read_text(), "run `make modules`"


def python_blocks() -> list[tuple[str, str]]:
    pages = [page for page in PAGES if "decisions" not in page.parts]
    return [
        (f"{page.relative_to(ROOT)}:{number}", block)
        for page in pages
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
    ]


@pytest.mark.parametrize("block", [block for _, block in python_blocks()], ids=[name for name, _ in python_blocks()])
def test_the_code_in_the_pages_runs(block, tmp_path):
    assert ran("-W", "error", "-c", block, cwd=tmp_path).stderr == ""


def test_the_changelog_knows_this_version():
    from treadle import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    assert [page.name for page in folder.glob("0*.md") if f"({page.name})" not in listed] == []
