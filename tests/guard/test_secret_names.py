import pytest

from treadle.guard.secret_names import NOT_SECRET, SecretName, classify_name, split_name

SECRET = {
    "password": "password passwd pwd user_password dbPassword PGPASSWORD password2 password_hash Password-Confirmation passphrase",
    "secret": "secret client_secret clientSecret SECRET_KEY_BASE aws_secret_access_key secrets secret_id",
    "token": "token access_token accessToken X-Auth-Token GITHUB_TOKEN refresh_tokens csrf_token authtoken jwt bearer token.value",
    "key": "api_key apiKey APIKey APIKEY x-api-key AccountKey SharedAccessKey private_key signing_keys myapikey",
    "authorization": "Authorization proxy-authorization",
    "credential": "credential credentials creds aws_credentials",
    "cookie": "cookie Set-Cookie cookies",
}
HARMLESS = """
max_tokens maxTokens input_tokens total_tokens tokens token_count tokenCount token_type token_limit token_usage
next_page_token nextToken eos_token pad_token tokenizer tokenized keyboard key keys monkey primary_key public_key foreign_key
author authority authored passport compass bypass_rules secretary secret_name password_policy password_required cookie_name
api_key_id access_key_id session_id credential_type path user name 123 _ passwordless
"""


@pytest.mark.parametrize(("kind", "names"), SECRET.items())
def test_a_name_stands_for_a_secret_by_its_words(kind, names):
    assert {name: classify_name(name) for name in names.split()} == dict.fromkeys(names.split(), SecretName(kind))


@pytest.mark.parametrize("name", ["", *HARMLESS.split()])
def test_a_name_stands_for_nothing(name):
    assert classify_name(name) == NOT_SECRET


def test_some_names_leave_it_open():
    assert [classify_name(name) for name in ("auth", "_auth")] == [SecretName("authorization", sure=False)] * 2
    assert [classify_name(name) for name in ("pass", "db_pass", "SMTP_PASS")] == [SecretName("password", sure=False)] * 3


def test_names_of_ones_own_are_whole_words_too():
    extra = (("pin",), ("customer", "number"))
    assert classify_name("cardPin", extra) == SecretName("secret")
    assert classify_name("old_customer_number_2", extra) == SecretName("secret")
    assert classify_name("pinned", extra) == NOT_SECRET
    assert classify_name("customer_no_number", extra) == NOT_SECRET
    assert classify_name("number", extra) == NOT_SECRET


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maxTokens", ("max", "tokens")),
        ("max-tokens.v2", ("max", "tokens", "v")),
        ("HTTPServerURL", ("http", "server", "url")),
        ("contraseña", ("contraseña",)),
        ("пароль", ("пароль",)),
        ("x" * 500, ("x" * 128,)),
    ],
)
def test_a_name_falls_into_words(name, words):
    assert split_name(name) == words
