"""Access tokens for Google Cloud: Application Default Credentials, without Google's own packages.

Knows a token as it is, the key of a service account, and what `gcloud auth application-default login` writes. Machines on Google
Cloud have a metadata server besides, which isn't asked here.
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
from treadle.models.encoding import encode
from treadle.models.exchange import Timeouts, exchange, route_to
from treadle.models.refusals import Server, refused, unreadable

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"  # noqa: S105 - where tokens are, not one
TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0)
LIFETIME = 3600  # seconds a signed request for a token is valid
EARLY = 120  # seconds before its end after which a token isn't used any more
LOGIN = "gcloud auth application-default login"

_MOST = 65536  # bytes read of an answer


class _File(Struct):
    """A credentials file, of whatever type."""

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
    expires_in: float = LIFETIME


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
        """What is posted for a token: a request signed with the account's key."""
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        claims = {"iss": self.email, "scope": SCOPE, "aud": TOKEN_ADDRESS, "iat": int(now), "exp": int(now) + LIFETIME}
        signed = f"{_url_safe(encode(header))}.{_url_safe(encode(claims))}"
        assertion = f"{signed}.{_url_safe(self._signature(signed.encode()))}"
        return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}

    def _signature(self, message: bytes) -> bytes:
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


class _User(Struct, frozen=True):
    """A person's login, and the file it came from."""

    path: str
    client_id: str
    client_secret: str
    refresh_token: str
    address: str

    @property
    def remedy(self) -> str:
        return f"Run `{LOGIN}` again."

    def form(self, now: float) -> dict[str, str]:
        """What is posted for a token."""
        named = {"client_id": self.client_id, "client_secret": self.client_secret, "refresh_token": self.refresh_token}
        return {"grant_type": "refresh_token", **named}


Source = _ServiceAccount | _User | str  # the last is a token as it is


class GoogleCredentials:
    """Proves to Google Cloud who asks: `Endpoint` takes one as `authorize`. Tokens are used again until they expire.

    `project` is the project that the credentials belong to, where they say so, and `billed` the one that pays for what is asked.
    """

    def __init__(self, source: Source, *, project: str = "", billed: str = "", clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self._billed = {"x-goog-user-project": billed} if billed else {}
        self._source = source
        self._clock = clock
        self._token = ""
        self._until = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def __call__(self, path: str, body: bytes) -> Mapping[str, str]:
        """The headers for one request."""
        return {"authorization": f"Bearer {await self.token()}", **self._billed}

    async def token(self) -> str:
        """An access token that is still valid for a while."""
        if isinstance(self._source, str):
            return self._source
        # Requests that begin at the same time fetch one token, not one each.
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            now = self._clock()
            if now >= self._until:
                fetched = await _fetch(self._source, now)
                self._token, self._until = fetched.access_token, now + fetched.expires_in - EARLY
        return self._token


def find_credentials(environment: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> GoogleCredentials:
    """The credentials that an environment names; otherwise those that `gcloud auth application-default login` has written.

    GOOGLE_OAUTH_ACCESS_TOKEN is a token as it is, GOOGLE_APPLICATION_CREDENTIALS the path of a file, and GOOGLE_CLOUD_PROJECT the
    project, whatever the credentials say.
    """
    token = environment.get("GOOGLE_OAUTH_ACCESS_TOKEN", "").strip()
    project = environment.get("GOOGLE_CLOUD_PROJECT", "").strip()
    if token:
        return GoogleCredentials(token, project=project, clock=clock)
    named = environment.get("GOOGLE_APPLICATION_CREDENTIALS", "").strip()
    path = Path(named) if named else _written_by_gcloud(environment)
    if not named and not path.is_file():
        file = "let GOOGLE_APPLICATION_CREDENTIALS name the JSON file of a service account"
        raise MissingKey(f"Google Cloud needs credentials: run `{LOGIN}`, or {file}.")
    found = read_credentials(path, clock=clock)
    found.project = project or found.project
    return found


def read_credentials(path: Path, *, clock: Callable[[], float] = time.time) -> GoogleCredentials:
    """The credentials in a file."""
    try:
        file = decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise MissingKey(f"The Google credentials in {path} can't be read ({error.strerror}): check the path.") from error
    except (ValidationError, DecodeError, UnicodeDecodeError):
        raise SettingsError(f"{path} is no file of Google credentials: create one with `{LOGIN}`.") from None
    project = file.project_id or file.quota_project_id
    return GoogleCredentials(_source(str(path), file), project=project, billed=file.quota_project_id, clock=clock)


def _source(path: str, file: _File) -> _ServiceAccount | _User:
    address = urlsplit(file.token_uri)
    if address.scheme != "https" and address.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise SettingsError(f"The token_uri in {path} isn't https: nothing secret is sent there.")
    match file.type:
        case "service_account" if file.client_email and file.private_key:
            return _ServiceAccount(path, file.client_email, file.private_key, file.private_key_id, file.token_uri)
        case "authorized_user" if file.client_id and file.refresh_token:
            return _User(path, file.client_id, file.client_secret, file.refresh_token, file.token_uri)
        case "service_account" | "authorized_user":
            raise SettingsError(f"The Google credentials in {path} aren't complete: create them again.")
        case other:
            known = f"use a service account's key, `{LOGIN}`, or a token in GOOGLE_OAUTH_ACCESS_TOKEN"
            raise SettingsError(f"{path} has Google credentials of the type {other!r}, which isn't supported: {known}.")


def _written_by_gcloud(environment: Mapping[str, str]) -> Path:
    folder = environment.get("CLOUDSDK_CONFIG") or Path(environment.get("HOME") or Path.home(), ".config", "gcloud")
    if "APPDATA" in environment and not environment.get("CLOUDSDK_CONFIG"):  # Windows
        folder = Path(environment["APPDATA"], "gcloud")
    return Path(folder, "application_default_credentials.json")


async def _fetch(source: _ServiceAccount | _User, now: float) -> _Token:
    """A new token. Every failure is a `ModelError`."""
    form = source.form(now)
    secrets = tuple(value for name, value in form.items() if value and name not in ("grant_type", "client_id"))
    server = Server("Google's token endpoint", source.address, remedy="is the network up?", secrets=secrets)
    status, headers, body = await _post(server, urlencode(form).encode())
    if status in (400, 401, 403):
        refusal = f"Google does not accept the credentials in {source.path} ({status}: {server.quoted(_reason(body))})."
        raise ModelRefused(f"{refusal} {source.remedy}", status=status)
    if status != 200:
        raise refused(server, status, headers, body)
    try:
        return decode(body, type=_Token)
    except (ValidationError, DecodeError, UnicodeDecodeError):
        raise unreadable(server, b"something else than a token") from None  # which may be a token all the same


async def _post(server: Server, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    parts = urlsplit(server.address)
    route = await route_to(server.address, TIMEOUTS)
    lines = [
        f"POST {route.prefix}{parts.path or '/'} HTTP/1.1",
        f"host: {parts.netloc}",
        f"user-agent: treadle/{__version__}",
        "accept-encoding: identity",
        "content-type: application/x-www-form-urlencoded",
        *([f"proxy-authorization: {route.proxy_authorization}"] if route.proxy_authorization else []),
        f"content-length: {len(body)}",
    ]
    answer = await exchange(route, server, "\r\n".join([*lines, "", ""]).encode() + body)
    try:
        return answer.status, answer.headers, await answer.rest(_MOST)
    finally:
        answer.leave()


def _reason(body: bytes) -> str:
    """The sentence in a refusal of the token endpoint, or its name: `invalid_grant`."""
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


def _url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
