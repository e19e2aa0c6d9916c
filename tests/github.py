"""A stand-in for GitHub's program `gh`: it takes exactly the commands that are expected, and keeps what is posted."""

import json
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = """#!/bin/sh
cd "{place}" || exit 9
printf '%s\\n' "$*" >> asked
[ -e signed-out ] && {{ echo "To get started with GitHub CLI, please run:  gh auth login" >&2; exit 4; }}
reviews=repos/acme/widget/pulls/5/reviews
case "$*" in
"issue view 12 --repo acme/widget --json title,body,url,author,comments") cat issue ;;
"pr view 5 --repo acme/widget --json title,url,headRefOid") cat pull ;;
"pr diff 5 --repo acme/widget --color never") cat diff ;;
"api $reviews --method GET --paginate --jq .[] | {{html_url: .html_url, body: .body}}") cat reviews ;;
"api $reviews --method POST --input "*)
    [ $# = 6 ] || exit 9
    cat "$6" >> posted
    printf '%s' '{{"html_url": "https://github.com/acme/widget/pull/5#pullrequestreview-1", "id": 1}}' ;;
*) echo "unknown command: $*" >&2; exit 9 ;;
esac
"""
ISSUE = "https://github.com/acme/widget/issues/12"
PULL = "https://github.com/acme/widget/pull/5"


class StandInGh:
    """The stand-in, and what it was asked."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(parents=True)
        (place / "gh").write_text(_SCRIPT.format(place=place))
        (place / "gh").chmod(0o755)
        self.returns(
            "issue", {"title": "Prices are off", "body": "By one.", "url": ISSUE, "author": {"login": "ann"}, "comments": []}
        )
        self.returns("pull", {"title": "Better prices", "url": PULL, "headRefOid": "abc1234567890"})
        self.returns("diff", "")
        self.returns("reviews", "")

    def returns(self, name: str, value: Any) -> None:
        """Set what a command returns."""
        (self.place / name).write_text(value if isinstance(value, str) else json.dumps(value))

    def sign_out(self) -> None:
        """Forget the credentials."""
        (self.place / "signed-out").touch()

    @property
    def asked(self) -> list[str]:
        """The commands so far."""
        path = self.place / "asked"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def posted(self) -> list[dict[str, Any]]:
        """The reviews that were posted."""
        path = self.place / "posted"
        return [json.loads(path.read_text())] if path.exists() else []


def install_gh(place: Path, monkeypatch: pytest.MonkeyPatch) -> StandInGh:
    """Put the stand-in on the path."""
    made = StandInGh(place)
    monkeypatch.setenv("PATH", f"{place}:/usr/local/bin:/usr/bin:/bin")
    return made
