import json
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guard.planted import BODY, BY_LOOKS, HEX, IN_CONTEXT, INNOCENT, MIXED
from treadle.core.errors import SettingsError
from treadle.guard.redaction import Redactor

REDACTOR = Redactor()
PLANTED = [*[(kind, secret, secret) for kind, secret in BY_LOOKS], *IN_CONTEXT]
TEXTS = pytest.mark.parametrize(("kind", "text", "secret"), PLANTED)


def in_pieces(redactor, text, sizes):
    stream, out, start = redactor.stream(), [], 0
    for size in sizes:
        out.append(stream.feed(text[start : start + size]))
        start += size
    return [*out, stream.feed(text[start:]), stream.close()]


# by looks and by name, in text


@TEXTS
def test_a_secret_is_masked_and_its_kind_is_told(kind, text, secret):
    redacted = REDACTOR.text(text)
    assert secret not in redacted
    assert f"[redacted:{kind}]" in redacted


@pytest.mark.parametrize(("kind", "secret"), BY_LOOKS)
@pytest.mark.parametrize(
    "around",
    [
        "see {} there",
        "ValueError: bad key '{}'",
        '  File "x.py", line 3\nKeyError: "{}"\n',
        "https://e.example/path?x={}&y=1",
        "https://e.example/{}/path",
        "next%3D{}%26b",
        '{{"a": ["{}"]}}',
        "line\\n{}\\nline",
        "\\u003d{}",
        "é{}é",
        "({})",
        "x={};y",
    ],
)
def test_a_secret_is_masked_wherever_it_stands(kind, secret, around):
    assert secret not in REDACTOR.text(around.format(secret))


def test_what_stands_around_a_secret_stays():
    text = f"I used {BY_LOOKS[2][1]}, then failed."
    assert REDACTOR.text(text) == "I used [redacted:github_token], then failed."
    assert REDACTOR.text("postgres://ann:" + "secretive@db/x") == "postgres://ann:[redacted:url_password]@db/x"
    assert REDACTOR.text('{"password": "' + 'x", "user": "ann"}') == '{"password": "[redacted:password]", "user": "ann"}'
    key = "-----BEGIN RSA " + "PRIVATE KEY-----"
    masked = f"a\n{key}[redacted:private_key]-----END RSA PRIVATE KEY-----\nb"
    assert REDACTOR.text(f"a\n{key}\n{BODY}\n-----END RSA PRIVATE KEY-----\nb") == masked


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_text_stays(text):
    assert REDACTOR.text(text) == text


TRIGGER_LETTERS = "=:>-%_/.~@AKSGQbB"


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters=TRIGGER_LETTERS)))
def test_text_without_a_trigger_is_returned_as_it_is(text):
    assert REDACTOR.text(text) is text or "basic" in text.lower() or "bearer" in text.lower()


@TEXTS
def test_a_long_secret_is_masked_to_its_end(kind, text, secret):
    tail = "".join(chr(ord("a") + number % 7) for number in range(5000))
    if kind in ("aws_key", "twilio_key", "mailgun_key", "mailchimp_key", "url_password") or "==" in text or "=/" in text:
        return  # of a fixed length
    assert tail[-100:] not in REDACTOR.text(text.replace(secret, secret + tail))


# twice


@TEXTS
def test_redacting_twice_changes_nothing_more(kind, text, secret):
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


KNOWN = Redactor(known_secrets=["open sesame, please", "s3same", "please-please"])
NAMES = "password token api_key Authorization Cookie secret key auth pass sig str PWD bearer Basic Bearer swordfish_code <password>"
WORDS = "MIIE xoxb- 123456789012 .Cl2FMQ hunter22 swordfish abcd1234 x 1 é İ sid=abc hello s3same s3 same ann: dXNlcjpwYXNz BEGIN"
SIGNS = (
    '= : == => " \' \\" \\ \\\\ \\n ` - -- ---- ----- ] [ ( ) < > ? & :// http://u: @ @h ; , . _ %3D [redacted: [redacted:token]'
)
BLANKS = [" ", "  ", "\n", "\t", "\u2028", "\x1f", ": ", " = ", "--token ", "curl -u ", "a b c"]
KEYS = ["-----BEGIN", "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE KEY-----", " PRIVATE KEY-----"]
SECRETS = [*[secret for _, secret in BY_LOOKS], "ey" + "J" + MIXED, "." + MIXED, "open sesame, please", "open sesame", ", please"]
PIECES = st.sampled_from([*NAMES.split(), *WORDS.split(), *SIGNS.split(), *BLANKS, *KEYS, *SECRETS])
MEDLEY = st.lists(PIECES, max_size=14).map("".join)
REDACTORS = st.sampled_from([REDACTOR, KNOWN, Redactor(extra_names=["swordfish_code"])])


@settings(deadline=None)
@given(REDACTORS, MEDLEY | st.text())
def test_redacting_twice_changes_nothing_more_whatever_the_text(redactor, text):
    once = redactor.text(text)
    assert redactor.text(once) == once


# in pieces


@settings(deadline=None)
@given(REDACTORS, MEDLEY | st.text(), st.lists(st.integers(1, 7), max_size=60))
@example(REDACTOR, 'password="' + "\\" * 9 + '" x', [1] * 30)
@example(REDACTOR, "-----BEGIN " + "PRIVATE KEY-----\nMIIE\n------END", [1] * 60)
@example(KNOWN, "open sesame, open sesame, please", [1] * 40)
@example(REDACTOR, "gh" + "p_" + MIXED + "x" * 3000 + " y", [1000, 1500, 900])
@example(REDACTOR, "a" * 3000 + " y", [1000, 1500, 900])
def test_pieces_give_what_the_whole_gives(redactor, text, sizes):
    assert "".join(in_pieces(redactor, text, sizes)) == redactor.text(text)


@TEXTS
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_no_piece_ever_lets_a_secret_through(kind, text, secret, size):
    whole = f"so {text} and so"
    shown = "".join(in_pieces(REDACTOR, whole, [size] * (len(whole) // size)))
    assert secret not in shown
    assert shown == REDACTOR.text(whole)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["hello", "world", "a", "token", "it", "is"]), min_size=1, max_size=30))
def test_no_more_than_the_last_word_is_held_back(words):
    stream, shown = REDACTOR.stream(), ""
    for word in words:
        shown += stream.feed(f"{word} ")
        assert shown.endswith(f"{word} ")
    assert stream.close() == ""


def test_what_is_held_back_is_bounded():
    stream = REDACTOR.stream()
    shown = sum(len(stream.feed("abcdefghij")) for _ in range(1000))
    assert 10_000 - shown <= 1100
    assert shown + len(stream.close()) == 10_000


def test_a_secret_without_end_is_swallowed_as_it_comes():
    stream = REDACTOR.stream()
    shown = [
        stream.feed("password=" + "hunter22"),
        *[stream.feed("x1" * 50) for _ in range(100)],
        stream.feed(" so"),
        stream.close(),
    ]
    assert "".join(shown) == "password=[redacted:password] so"


# known secrets


SECRET = 'öpen "sesame" + 50% / now?'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower().replace("%c3%b6", "%c3%b6"),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET, ensure_ascii=False))[3:-3],
        b64encode(SECRET.encode()).decode(),
        urlsafe_b64encode(SECRET.encode()).decode(),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_a_known_secret_is_masked_however_it_is_spelled(spelled):
    redactor = Redactor(known_secrets=["other", SECRET])
    shown = redactor.text(f"so {spelled} so")
    assert shown.startswith("so [redacted:known]")
    assert "".join(in_pieces(redactor, f"so {spelled} so", [1] * 200)) == shown
    assert len(shown) < 40


@pytest.mark.parametrize("before", ["", "a", "ab", "ann:", "longer-name:"])
def test_a_known_secret_is_masked_inside_of_base64(before):
    encoded = b64encode(f"{before}correct-horse".encode()).decode()
    shown = Redactor(known_secrets=["correct-horse"]).text(f"sent {encoded}")
    assert "[redacted:" in shown
    begin = -(-len(before) * 8 // 6)
    assert encoded[begin : begin + 15] not in shown


def test_known_secrets_are_masked_in_nested_values_and_their_keys():
    redactor = Redactor(known_secrets=["correct-horse", "battery-staple"])
    value = {"a": ["x correct-horse"], "correct-horse": 1, "battery-staple": 2}
    assert redactor.value(value) == {"a": ["x [redacted:known]"], "[redacted:known]": 1, "[redacted:known]'": 2}


def test_the_rest_of_a_value_that_begins_with_a_known_secret_is_masked():
    redactor = Redactor(known_secrets=["s3same"])
    assert redactor.text("password=" + "s3sameStr33t") == "password=[redacted:known][redacted:password]"


def test_too_short_a_secret_is_not_looked_for_and_neither_are_words_of_the_mask():
    redactor = Redactor(known_secrets=["a", "", "redacted"])
    assert redactor.text("a redacted cat") == "a redacted cat"


def test_half_a_surrogate_pair_may_be_known():
    assert Redactor(known_secrets=["abcd\ud800"]).text("x abcd\ud800 y") == "x [redacted:known] y"


def test_a_letter_beyond_the_basic_plane_may_be_known():
    assert Redactor(known_secrets=["abcd😀"]).text("x abcd\\ud83d\\ude00 y") == "x [redacted:known] y"


def test_a_redactor_never_shows_what_it_knows():
    assert "sesame" not in repr(Redactor(extra_names=["pin_code"], known_secrets=["open sesame"]))
    assert "pin_code" in repr(Redactor(extra_names=["pin_code"]))


# values


def test_values_keep_their_shape_and_lose_their_secrets():
    value = {
        "user": "ann",
        "password": "x",
        "Authorization": "Bearer y",
        "settings": [{"apiKey": "k", "max_tokens": 800, "keyboard": "qwerty", "token": 12}, ("see " + BY_LOOKS[0][1],)],
        "credentials": {"user": "ann", "pair": ["a", 5, None, True, ("b",)]},
        "empty": {"password": "", "secret": None, "token": False},
        "pin": 3.5,
    }
    assert REDACTOR.value(value) == {
        "user": "ann",
        "password": "[redacted:password]",
        "Authorization": "[redacted:authorization]",
        "settings": [
            {"apiKey": "[redacted:key]", "max_tokens": 800, "keyboard": "qwerty", "token": 12},
            ("see [redacted:aws_key]",),
        ],
        "credentials": {
            "user": "[redacted:credential]",
            "pair": ["[redacted:credential]", "[redacted:credential]", None, True, ("[redacted:credential]",)],
        },
        "empty": {"password": "", "secret": None, "token": False},
        "pin": 3.5,
    }


def test_a_value_named_in_place_is_masked():
    headers = [{"name": "X-Api-Key", "value": "v"}, {"key": "DB_PASSWORD", "value": "v"}, {"name": "colour", "value": "v"}]
    assert [header["value"] for header in REDACTOR.value(headers)] == ["[redacted:key]", "[redacted:password]", "v"]
    assert REDACTOR.value({"name": 3, "value": "v"}) == {"name": 3, "value": "v"}


def test_what_follows_a_flag_is_masked():
    assert REDACTOR.value(["in", "--password", "x", "--user", "ann"]) == [
        "in",
        "--password",
        "[redacted:password]",
        "--user",
        "ann",
    ]
    assert REDACTOR.value(("-token", "y", "z")) == ("-token", "[redacted:token]", "z")
    assert REDACTOR.value(["--secret=zzzzzyx1", "next"]) == ["--secret=[redacted:secret]", "next"]


def test_a_name_that_leaves_it_open_needs_a_value_that_does_not():
    value = {"auth": "oauth2", "pass": "yes", "db_pass": "hunter22", "_auth": MIXED}
    redacted = {"auth": "oauth2", "pass": "yes", "db_pass": "[redacted:password]", "_auth": "[redacted:authorization]"}
    assert REDACTOR.value(value) == redacted


def test_extra_names_count_in_values_and_in_text():
    redactor = Redactor(extra_names=["pinCode", "contraseña"])
    assert redactor.value({"pin_code": "1", "PINCODE": "2", "pin": "3"}) == {
        "pin_code": "[redacted:secret]",
        "PINCODE": "2",
        "pin": "3",
    }
    assert redactor.text("card_pin_code=abcd1234") == "card_pin_code=[redacted:secret]"
    assert redactor.text("contraseña: abcd1234") == "contraseña: [redacted:secret]"


def test_a_name_without_words_is_a_mistake():
    with pytest.raises(SettingsError, match="'123' has no word"):
        Redactor(extra_names=["123"])


def test_values_that_are_no_json_are_left_alone():
    thing = object()
    assert REDACTOR.value({1: thing, "password": thing}) == {1: thing, "password": thing}


@pytest.mark.parametrize("name", ["a", "password"])
def test_a_value_nested_too_deep_is_masked_there(name):
    value = "x"
    for _ in range(500):
        value = {name: value}
    text = json.dumps(REDACTOR.value(value))
    assert "[redacted:too_deep]" in text
    assert text.count(f'"{name}"') == 100


@TEXTS
def test_a_secret_is_masked_in_nested_values(kind, text, secret):
    value = {"note": text, "list": [{"deep": [text]}], "why": f"ToolError({text!r})"}
    assert secret not in json.dumps(REDACTOR.value(value), ensure_ascii=False)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | MEDLEY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEDLEY, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(REDACTORS, VALUES)
def test_redacting_a_value_twice_changes_nothing_more(redactor, value):
    once = redactor.value(value)
    assert redactor.value(once) == once


# hostile


HOSTILE = [
    "key=", "key", "-eyJ", "eyJaaaaaaaa.", "://", "://a:a", "password=a ", "password=hunter22 ", '"password":"a" ', "AKIA", "-",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "\\", 'password="' + "\\" * 9, "M" + "a" * 24 + ".aaaaaa.", "123456789:AA",
    "bearer a1 ", "basic aaaaaaaa ", "a", "ghp_", "a.-1Q~", HEX + "-us", "SG." + "a" * 20 + ".", "[redacted:token]", "token: str ",
    "password=é", "token" + " " * 20, "cookie:a", "://a:" + "@" * 500, "curl -u ", "curl ", "İ", "\ud800=token",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_takes_no_longer_than_it_is_long(piece):
    text = piece * (200_000 // len(piece)) + ". :="
    began = time.process_time()
    REDACTOR.text(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("piece", ["a", "password=hunter22 ", "-", "\\", "[redacted:token]", '"token":"'])
def test_a_hostile_stream_takes_no_longer_than_it_is_long(piece):
    stream = KNOWN.stream()
    began = time.process_time()
    for _ in range(10_000 // len(piece)):
        stream.feed(piece)
    stream.close()
    assert time.process_time() - began < 4


def test_a_redactor_can_learn_the_secrets_of_one_run_and_leaves_the_other_as_it_was():
    base = Redactor(extra_names=["pin code"], known_secrets=["first-secret"])
    more = base.knowing(["second-secret"])
    assert more.text("first-secret second-secret") == "[redacted:known] [redacted:known]"
    assert base.text("second-secret") == "second-secret"
    assert more.value({"pin_code": "1234"}) == base.value({"pin_code": "1234"}) != {"pin_code": "1234"}


def test_two_redactors_mask_together_what_each_masks():
    both = Redactor(["badge"], ["first-secret-value"]).combine(Redactor(["pass_phrase"], ["second-secret-value"]))
    assert both.value({"badge": "b-12345678", "pass_phrase": "p-12345678", "a": "first-secret-value second-secret-value"}) == (
        Redactor(["badge", "pass_phrase"], ["first-secret-value", "second-secret-value"]).value(
            {"badge": "b-12345678", "pass_phrase": "p-12345678", "a": "first-secret-value second-secret-value"}
        )
    )
    assert "secret-value" not in both.text("first-secret-value second-secret-value")
