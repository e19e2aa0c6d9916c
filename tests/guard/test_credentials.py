"""What detect-secrets looks for is masked, whole or in pieces; prose, code and documentation stay as they are."""

from pathlib import Path

import pytest

from guard.credentials import Maker
from treadle.guard.redaction import Redactor

MADE = Maker(1).all()
ROOT = Path(__file__).parents[2]
redactor = Redactor()


def shows(text: str, secret: str) -> bool:
    """Whether any stretch of a secret is left that is worth anything."""
    return any(secret[start : start + 10] in text for start in range(len(secret) - 9))


def test_every_detector_that_finds_secrets_has_its_rows():
    assert {detector for detector, _, _ in MADE} == {
        "artifactory", "aws", "azure_storage_key", "basic_auth", "cloudant", "discord", "github_token", "gitlab_token",
        "ibm_cloud_iam", "ibm_cos_hmac", "jwt", "keyword", "mailchimp", "npm", "openai", "private_key", "pypi_token", "sendgrid",
        "slack", "softlayer", "square_oauth", "stripe", "telegram_token", "twilio",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_a_credential_of_every_format_is_masked(seed):
    left = [text for _, text, secret in Maker(seed).all() if shows(redactor.text(text), secret)]
    assert left == []


@pytest.mark.parametrize("size", range(1, 8))
def test_a_credential_of_every_format_is_masked_in_pieces(size):
    for _, text, secret in MADE:
        stream = redactor.stream()
        pieces = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
        assert not shows("".join([*pieces, stream.close()]), secret), text


@pytest.mark.parametrize("seed", range(3))
def test_a_credential_is_masked_in_values_whatever_they_are_called(seed):
    for _, text, secret in Maker(seed).all():
        assert not shows(str(redactor.value({"note": [text], "more": {"url": text}})), secret), text


def test_hardly_a_line_of_our_own_documentation_and_code_is_touched():
    """Most that are say what secrets are called. At most one line in a hundred would be much; it is one in two thousand."""
    pages = [*ROOT.joinpath("docs").glob("*.md"), *ROOT.joinpath("src/treadle/engine").glob("*.py"), *ROOT.glob("*.md")]
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    touched = [line for line in lines if redactor.text(line) != line]
    assert len(lines) > 5000
    assert len(touched) / len(lines) < 0.002


@pytest.mark.parametrize(
    "text",
    [
        "client key exchange",
        "db_key_count = 12345678",
        "the database keys: users, orders and items",
        "primary_key = 'abc12345'",
        "AP and AC are letters; AC0123 is a room",
        "APOLLO11MISSIONCONTROLCENTERHOUSTON",
        "A3TEAM is no key",
        "contraseñas: 3",
        'api_key = "your-key-goes-here"',
        "https://api.softlayer.com/soap/v3/",
        "CLIENT KEY",
    ],
)
def test_what_only_begins_like_them_stays(text):
    assert redactor.text(text) == text
