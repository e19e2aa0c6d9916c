import pytest

from treadle.guard.names import NOTHING, Named, named, words_of

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
    assert {name: named(name) for name in names.split()} == dict.fromkeys(names.split(), Named(kind))


@pytest.mark.parametrize("name", ["", *HARMLESS.split()])
def test_a_name_stands_for_nothing(name):
    assert named(name) == NOTHING


def test_some_names_leave_it_open():
    assert [named(name) for name in ("auth", "_auth")] == [Named("authorization", sure=False)] * 2
    assert [named(name) for name in ("pass", "db_pass", "SMTP_PASS")] == [Named("password", sure=False)] * 3


def test_names_of_ones_own_are_whole_words_too():
    extra = (("pin",), ("customer", "number"))
    assert named("cardPin", extra) == Named("secret")
    assert named("old_customer_number_2", extra) == Named("secret")
    assert named("pinned", extra) == NOTHING
    assert named("customer_no_number", extra) == NOTHING
    assert named("number", extra) == NOTHING


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
    assert words_of(name) == words
