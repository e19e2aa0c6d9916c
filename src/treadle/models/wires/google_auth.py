"""Access tokens for Google Cloud: Application Default Credentials, without Google's own packages.

Supports an access token, the key of a service account, and what `gcloud auth application-default login` writes. The metadata
server of machines on Google Cloud isn't used.
"""

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from weakref import WeakKeyDictionary

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import decode

from treadle._version import __version__
from treadle.core.errors import MissingKey, ModelRefused, SettingsError
from treadle.models.connections import Timeouts, find_route, send_request
from treadle.models.encoding import encode
from treadle.models.server_errors import ServerIdentity, error_from_response, unreadable_reply_error

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"  # noqa: S105 - where tokens are, not one
TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0)
TOKEN_LIFETIME = 3600  # seconds a signed request for a token is valid
EXPIRY_MARGIN = 120  # seconds before its end after which a token isn't used any more
LOGIN = "gcloud auth application-default login"

_MOST = 65536  # bytes read of an answer


class _CredentialsFile(Struct):
    """A credentials file of any type."""

    type: str = ""
    project_id: str = ""
    quota_project_id: str = ""
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    client_id: str = ""
    client_secret: str = ""
    refresh_token: str = ""
    token_uri: str = TOKEN_ADDRESS


class _Token(Struct):
    access_token: str
    expires_in: float = TOKEN_LIFETIME


class _ServiceAccount(Struct, frozen=True):
    """The key of a service account, and the file it came from."""

    path: str
    email: str
    key: str
    key_id: str
    address: str

    @property
    def remedy(self) -> str:
        return f"Check that the key in {self.path} still exists, and that the clock of this machine is right."

    def form(self, now: float) -> dict[str, str]:
        """Return the form to post for a token: a request signed with the account's key."""
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        claims = {"iss": self.email, "scope": SCOPE, "aud": TOKEN_ADDRESS, "iat": int(now), "exp": int(now) + TOKEN_LIFETIME}
        signed = f"{_encode_url_safe(encode(header))}.{_encode_url_safe(encode(claims))}"
        assertion = f"{signed}.{_encode_url_safe(self._sign(signed.encode()))}"
        return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}

    def _sign(self, message: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(self.key.encode(), password=None)
        except ValueError:  # its words may quote the key
            key = None
        if not isinstance(key, RSAPrivateKey):
            raise SettingsError(f"The private_key in {self.path} is no RSA key; create a new key for the service account.")
        return key.sign(message, PKCS1v15(), SHA256())


class _UserLogin(Struct, frozen=True):
    """A user's login, and the file it came from."""

    path: str
    client_id: str
    client_secret: str
    refresh_token: str
    address: str

    @property
    def remedy(self) -> str:
        return f"Run `{LOGIN}` again."

    def form(self, now: float) -> dict[str, str]:
        """Return the form to post for a token."""
        named = {"client_id": self.client_id, "client_secret": self.client_secret, "refresh_token": self.refresh_token}
        return {"grant_type": "refresh_token", **named}


TokenSource = _ServiceAccount | _UserLogin | str  # the last is a token as it is


class GoogleCredentials:
    """Authenticates requests to Google Cloud: passed to `ModelEndpoint` as `authorize`. Tokens are reused until they expire.

    `project` is the project that the credentials belong to, if they say so, and `billed` the one that pays for requests.
    """

    def __init__(self, source: TokenSource, *, project: str = "", billed: str = "", clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self._billed = {"x-goog-user-project": billed} if billed else {}
        self._source = source
        self._clock = clock
        self._token = ""
        self._until = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def __call__(self, path: str, body: bytes) -> Mapping[str, str]:
        """Return the headers for one request."""
        return {"authorization": f"Bearer {await self.token()}", **self._billed}

    async def token(self) -> str:
        """Return an access token that is still valid for a while."""
        if isinstance(self._source, str):
            return self._source
        # Requests that begin at the same time fetch one token, not one each.
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            now = self._clock()
            if now >= self._until:
                fetched = await _fetch_token(self._source, now)
                self._token, self._until = fetched.access_token, now + fetched.expires_in - EXPIRY_MARGIN
        return self._token


def find_google_credentials(environment: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> GoogleCredentials:
    """Return the credentials that an environment names; otherwise those written by `gcloud auth application-default login`.

    GOOGLE_OAUTH_ACCESS_TOKEN is an access token, GOOGLE_APPLICATION_CREDENTIALS the path of a file, and GOOGLE_CLOUD_PROJECT the
    project, whatever the credentials say.
    """
    token = environment.get("GOOGLE_OAUTH_ACCESS_TOKEN", "").strip()
    project = environment.get("GOOGLE_CLOUD_PROJECT", "").strip()
    if token:
        return GoogleCredentials(token, project=project, clock=clock)
    named = environment.get("GOOGLE_APPLICATION_CREDENTIALS", "").strip()
    path = Path(named) if named else _gcloud_credentials_path(environment)
    if not named and not path.is_file():
        file = "let GOOGLE_APPLICATION_CREDENTIALS name the JSON file of a service account"
        raise MissingKey(f"Google Cloud needs credentials: run `{LOGIN}`, or {file}.")
    found = read_google_credentials(path, clock=clock)
    found.project = project or found.project
    return found


def read_google_credentials(path: Path, *, clock: Callable[[], float] = time.time) -> GoogleCredentials:
    """Return the credentials in a file."""
    try:
        file = decode(path.read_bytes(), type=_CredentialsFile)
    except OSError as error:
        raise MissingKey(f"The Google credentials in {path} can't be read ({error.strerror}): check the path.") from error
    except (ValidationError, DecodeError, UnicodeDecodeError):
        raise SettingsError(f"{path} is no file of Google credentials: create one with `{LOGIN}`.") from None
    project = file.project_id or file.quota_project_id
    return GoogleCredentials(_make_source(str(path), file), project=project, billed=file.quota_project_id, clock=clock)


def _make_source(path: str, file: _CredentialsFile) -> _ServiceAccount | _UserLogin:
    address = urlsplit(file.token_uri)
    if address.scheme != "https" and address.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise SettingsError(f"The token_uri in {path} isn't https: nothing secret is sent there.")
    match file.type:
        case "service_account" if file.client_email and file.private_key:
            return _ServiceAccount(path, file.client_email, file.private_key, file.private_key_id, file.token_uri)
        case "authorized_user" if file.client_id and file.refresh_token:
            return _UserLogin(path, file.client_id, file.client_secret, file.refresh_token, file.token_uri)
        case "service_account" | "authorized_user":
            raise SettingsError(f"The Google credentials in {path} aren't complete: create them again.")
        case other:
            known = f"use a service account's key, `{LOGIN}`, or a token in GOOGLE_OAUTH_ACCESS_TOKEN"
            raise SettingsError(f"{path} has Google credentials of the type {other!r}, which isn't supported: {known}.")


def _gcloud_credentials_path(environment: Mapping[str, str]) -> Path:
    folder = environment.get("CLOUDSDK_CONFIG") or Path(environment.get("HOME") or Path.home(), ".config", "gcloud")
    if "APPDATA" in environment and not environment.get("CLOUDSDK_CONFIG"):  # Windows
        folder = Path(environment["APPDATA"], "gcloud")
    return Path(folder, "application_default_credentials.json")


async def _fetch_token(source: _ServiceAccount | _UserLogin, now: float) -> _Token:
    """Fetch a new token. Every failure is a `ModelError`."""
    form = source.form(now)
    secrets = tuple(value for name, value in form.items() if value and name not in ("grant_type", "client_id"))
    server = ServerIdentity("Google's token endpoint", source.address, remedy="is the network up?", secrets=secrets)
    status, headers, body = await _post(server, urlencode(form).encode())
    if status in (400, 401, 403):
        refusal = f"Google does not accept the credentials in {source.path} ({status}: {server.quote(_error_reason(body))})."
        raise ModelRefused(f"{refusal} {source.remedy}", status=status)
    if status != 200:
        raise error_from_response(server, status, headers, body)
    try:
        return decode(body, type=_Token)
    except (ValidationError, DecodeError, UnicodeDecodeError):
        raise unreadable_reply_error(server, b"something else than a token") from None  # which may be a token all the same


async def _post(server: ServerIdentity, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    parts = urlsplit(server.address)
    route = await find_route(server.address, TIMEOUTS)
    lines = [
        f"POST {route.prefix}{parts.path or '/'} HTTP/1.1",
        f"host: {parts.netloc}",
        f"user-agent: treadle/{__version__}",
        "accept-encoding: identity",
        "content-type: application/x-www-form-urlencoded",
        *([f"proxy-authorization: {route.proxy_authorization}"] if route.proxy_authorization else []),
        f"content-length: {len(body)}",
    ]
    answer = await send_request(route, server, "\r\n".join([*lines, "", ""]).encode(), body)
    try:
        return answer.status, answer.headers, await answer.rest(_MOST)
    finally:
        answer.leave()


def _error_reason(body: bytes) -> str:
    """Return the message in an error of the token endpoint, or its name: `invalid_grant`."""
    try:
        said = decode(body)
    except (DecodeError, UnicodeDecodeError):
        return "no reason given"
    match said:
        case {"error": str(name), "error_description": str(sentence)}:
            return f"{name}, {sentence}"
        case {"error": str(name)}:
            return name
        case _:
            return "no reason given"


def _encode_url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
