"""Access tokens for Google Cloud, from a token endpoint on loopback that checks what it is asked."""

import asyncio
import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from treadle.core.errors import MissingKey, ModelRefused, ModelUnavailable, ReplyBroken, SettingsError
from treadle.models.wires.google_auth import EXPIRY_MARGIN, find_google_credentials, read_google_credentials

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


class TokenEndpoint:
    """Gives tokens, one after the other, or whatever it is told to answer. `asked` has the forms that were posted."""

    def __init__(self, status=200, answer=None):
        self.asked = []
        self.status = status
        self.answer = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                form = self.rfile.read(int(self.headers["content-length"])).decode()
                assert self.headers["content-type"] == "application/x-www-form-urlencoded"
                outer.asked.append(dict(parse_qsl(form, keep_blank_values=True)))
                body = outer.answer if outer.answer is not None else json.dumps(outer.token()).encode()
                self.send_response(outer.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_): ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def token(self):
        return {"access_token": f"token-{len(self.asked)}", "expires_in": 3599, "token_type": "Bearer"}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Clock:
    def __init__(self):
        self.now = 1_750_000_000.0

    def __call__(self):
        return self.now


def account(url, **fields):
    values = {
        "type": "service_account",
        "project_id": "my-project",
        "client_email": "me@my-project.iam.gserviceaccount.com",
        "private_key_id": "key-1",
        "private_key": PEM,
        "token_uri": url,
        "universe_domain": "googleapis.com",
    }
    return {**values, **fields}


def user(url, **fields):
    values = {
        "type": "authorized_user",
        "client_id": "client.apps.googleusercontent.com",
        "client_secret": "client-secret-1",
        "refresh_token": "1//refresh-token-1",
        "quota_project_id": "billed-project",
        "token_uri": url,
        "account": "",
    }
    return {**values, **fields}


@pytest.fixture
def write(tmp_path):
    def written(values):
        path = tmp_path / "credentials.json"
        path.write_text(values if isinstance(values, str) else json.dumps(values))
        return path

    return written


def headers_of(credentials):
    return asyncio.run(credentials("/path", b"{}"))


def decoded(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def check_assertion(form, now):
    assert form.keys() == {"grant_type", "assertion"}
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    signed, _, signature = form["assertion"].rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    KEY.public_key().verify(raw, signed.encode(), padding.PKCS1v15(), SHA256())
    header, claims = map(decoded, signed.split("."))
    assert header == {"alg": "RS256", "typ": "JWT", "kid": "key-1"}
    assert claims == {
        "iss": "me@my-project.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": "https://oauth2.googleapis.com/token",
        "iat": now,
        "exp": now + 3600,
    }


def test_a_service_account_signs_for_its_token(write):
    clock = Clock()
    with TokenEndpoint() as endpoint:
        credentials = read_google_credentials(write(account(endpoint.url)), clock=clock)
        assert headers_of(credentials) == {"authorization": "Bearer token-1"}
    assert credentials.project == "my-project"
    check_assertion(endpoint.asked[0], 1_750_000_000)


def test_the_check_of_the_signature_can_fail():
    with pytest.raises(InvalidSignature):
        check_assertion({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "e30.e30.AAAA"}, 0)


def test_googles_own_package_asks_in_the_same_way(write):
    service_account = pytest.importorskip("google.oauth2.service_account", reason="google-genai isn't installed")
    transport = pytest.importorskip("google.auth.transport.requests", reason="google-genai isn't installed")
    with TokenEndpoint() as endpoint:
        path = write(account(endpoint.url))
        theirs = service_account.Credentials.from_service_account_file(
            str(path), scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
        theirs.refresh(transport.Request())
        headers_of(read_google_credentials(path))
    (their_claims, their_header), (our_claims, our_header) = (
        (decoded(form["assertion"].split(".")[1]), decoded(form["assertion"].split(".")[0])) for form in endpoint.asked
    )
    assert our_header == their_header
    times = {"iat", "exp"}
    assert {key: value for key, value in our_claims.items() if key not in times} == {
        key: value for key, value in their_claims.items() if key not in times
    }
    assert our_claims["exp"] - our_claims["iat"] == their_claims["exp"] - their_claims["iat"]
    assert endpoint.asked[0]["grant_type"] == endpoint.asked[1]["grant_type"]


def test_a_persons_login_is_refreshed(write):
    with TokenEndpoint() as endpoint:
        credentials = read_google_credentials(write(user(endpoint.url)))
        assert headers_of(credentials) == {"authorization": "Bearer token-1", "x-goog-user-project": "billed-project"}
    assert credentials.project == "billed-project"
    assert endpoint.asked == [
        {
            "grant_type": "refresh_token",
            "client_id": "client.apps.googleusercontent.com",
            "client_secret": "client-secret-1",
            "refresh_token": "1//refresh-token-1",
        }
    ]


def test_a_token_is_used_until_shortly_before_it_expires(write):
    clock = Clock()
    with TokenEndpoint() as endpoint:
        credentials = read_google_credentials(write(user(endpoint.url)), clock=clock)
        tokens = []
        for step in (0, 3599 - EXPIRY_MARGIN - 1, 1, 10):
            clock.now += step
            tokens.append(asyncio.run(credentials.token()))
    assert tokens == ["token-1", "token-1", "token-2", "token-2"]


def test_requests_at_the_same_time_fetch_one_token(write):
    with TokenEndpoint() as endpoint:
        credentials = read_google_credentials(write(user(endpoint.url)))

        async def many():
            return await asyncio.gather(*[credentials.token() for _ in range(5)])

        assert set(asyncio.run(many())) == {"token-1"}
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(("status", "error"), [(400, "invalid_grant"), (401, "invalid_client")])
def test_a_login_that_was_revoked_says_what_to_do(write, status, error):
    answer = json.dumps({"error": error, "error_description": "Token has been expired or revoked. 1//refresh-token-1"}).encode()
    with TokenEndpoint(status, answer) as endpoint:
        path = write(user(endpoint.url))
        with pytest.raises(ModelRefused, match=error) as raised:
            headers_of(read_google_credentials(path))
    assert "gcloud auth application-default login" in str(raised.value)
    assert str(path) in str(raised.value)
    assert raised.value.status == status
    assert not raised.value.retryable
    assert "refresh-token-1" not in str(raised.value)


def test_a_key_that_was_deleted_says_what_to_do(write):
    answer = json.dumps({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}).encode()
    with TokenEndpoint(400, answer) as endpoint, pytest.raises(ModelRefused, match="Invalid JWT Signature") as raised:
        headers_of(read_google_credentials(write(account(endpoint.url))))
    assert "still exists" in str(raised.value)


@pytest.mark.parametrize("answer", [b"", b"<html>", b'"no"', b"[]", b'{"error": {"message": "no"}}'])
def test_a_refusal_without_a_reason_is_one(write, answer):
    with TokenEndpoint(403, answer) as endpoint, pytest.raises(ModelRefused, match="no reason given"):
        headers_of(read_google_credentials(write(user(endpoint.url))))


def test_after_a_refusal_it_is_tried_again(write):
    with TokenEndpoint(500, b"{}") as endpoint:
        credentials = read_google_credentials(write(user(endpoint.url)))
        with pytest.raises(ModelUnavailable):
            headers_of(credentials)
        endpoint.status, endpoint.answer = 200, None
        assert headers_of(credentials)["authorization"] == "Bearer token-2"


def test_an_endpoint_that_is_not_there_is_unavailable(write):
    with TokenEndpoint() as endpoint:
        pass
    with pytest.raises(ModelUnavailable, match="Google's token endpoint"):
        headers_of(read_google_credentials(write(user(endpoint.url))))


def test_an_answer_without_a_token_is_not_shown(write):
    with TokenEndpoint(200, b'{"id_token": "secret-token"}') as endpoint, pytest.raises(ReplyBroken) as raised:
        headers_of(read_google_credentials(write(user(endpoint.url))))
    assert "secret-token" not in str(raised.value)


# Where credentials come from


def test_a_token_as_it_is_comes_first(write):
    environment = {
        "GOOGLE_OAUTH_ACCESS_TOKEN": " given\n",
        "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere",
        "GOOGLE_CLOUD_PROJECT": "p",
    }
    credentials = find_google_credentials(environment)
    assert headers_of(credentials) == {"authorization": "Bearer given"}
    assert credentials.project == "p"


def test_a_file_that_is_named_comes_before_the_one_of_gcloud(write, tmp_path):
    with TokenEndpoint() as endpoint:
        named = write(account(endpoint.url))
        environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(named), "CLOUDSDK_CONFIG": str(tmp_path / "none")}
        assert find_google_credentials(environment).project == "my-project"
        assert find_google_credentials({**environment, "GOOGLE_CLOUD_PROJECT": "another"}).project == "another"


@pytest.mark.parametrize(("variable", "folder"), [("CLOUDSDK_CONFIG", "."), ("HOME", ".config/gcloud"), ("APPDATA", "gcloud")])
def test_what_gcloud_has_written_is_found(tmp_path, variable, folder):
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "application_default_credentials.json").write_text(json.dumps(user("https://oauth2.googleapis.com/token")))
    assert find_google_credentials({variable: str(tmp_path)}).project == "billed-project"


def test_no_credentials_at_all_says_how_to_get_some(tmp_path):
    with pytest.raises(MissingKey, match="gcloud auth application-default login") as raised:
        find_google_credentials({"HOME": str(tmp_path)})
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(raised.value)


def test_a_file_that_is_named_and_not_there(tmp_path):
    with pytest.raises(MissingKey, match="check the path"):
        find_google_credentials({"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "none.json")})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("not json", "is no file of Google credentials"),
        ('{"type": 5}', "is no file of Google credentials"),
        ({"type": "service_account"}, "aren't complete"),
        ({"type": "authorized_user", "client_id": "x"}, "aren't complete"),
        ({"type": "external_account"}, "'external_account', which isn't supported"),
        (user("http://example.org/token"), "isn't https"),
    ],
)
def test_a_file_that_is_of_no_use_says_why(write, values, sentence):
    with pytest.raises(SettingsError, match=sentence):
        read_google_credentials(write(values))


@pytest.mark.parametrize("pem", ["nonsense", PEM[:100]], ids=["nonsense", "half of one"])
def test_a_key_that_is_none_is_not_shown(write, pem):
    with TokenEndpoint() as endpoint, pytest.raises(SettingsError, match="no RSA key") as raised:
        headers_of(read_google_credentials(write(account(endpoint.url, private_key=pem))))
    assert pem not in str(raised.value)
    assert endpoint.asked == []
