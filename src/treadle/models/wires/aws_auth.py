"""Amazon Web Services: loads credentials and the region, and signs requests with Signature Version 4.

Credentials are read from the environment or from a profile in the shared files. Profiles that log in (SSO), assume a role or
run a command, and the credentials of a machine (IMDS), aren't read: `aws configure export-credentials` turns them into
values.
"""

import hashlib
import hmac
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Self
from urllib.parse import quote

from msgspec import Struct

from treadle.core.errors import SettingsError

_ALGORITHM = "AWS4-HMAC-SHA256"
_CONTENT_TYPE = "application/json"
_STAMP = "%Y%m%dT%H%M%SZ"


class AwsCredentials(Struct, frozen=True):
    """An access key with its secret; a temporary one has a session token too. The secrets are left out of the repr."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return f"Credentials({self.access_key_id!r}, …)"


# Where they come from


def load_aws_credentials(environment: Mapping[str, str]) -> AwsCredentials | None:
    """Return the credentials in the environment, or those of its profile in the shared credentials file; None without any."""
    names = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
    key, secret, token = (environment.get(name, "").strip() for name in names)
    if not key and not secret:
        path = _get_path(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials")
        values = _read_section(path, _get_profile(environment))
        key, secret, token = (values.get(name.lower(), "").strip() for name in names)
    if bool(key) != bool(secret):
        present, missing = (names[0], names[1]) if key else (names[1], names[0])
        raise SettingsError(f"{present} is set and {missing} isn't: an AWS access key has both.")
    return AwsCredentials(key, secret, token) if key else None


def load_aws_region(environment: Mapping[str, str]) -> str:
    """Return the region in the environment, or that of its profile in the shared configuration file; empty without one."""
    named = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if named:
        return named.strip()
    profile = _get_profile(environment)
    section = profile if profile == "default" else f"profile {profile}"
    return _read_section(_get_path(environment, "AWS_CONFIG_FILE", "config"), section).get("region", "").strip()


def _get_profile(environment: Mapping[str, str]) -> str:
    return environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or "default"


def _get_path(environment: Mapping[str, str], variable: str, name: str) -> Path:
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    given = environment.get(variable)
    if not given:
        return home / ".aws" / name
    return home / given[2:] if given.startswith("~/") else Path(given)


def _read_section(path: Path, section: str) -> Mapping[str, str]:
    """Return the values of one section of a shared file; empty if there is no such file or section."""
    parser = RawConfigParser(default_section="", strict=False)  # a section named `default` is nothing special there
    try:
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, Error) as error:
        raise SettingsError(f"{path} can't be read: {type(error).__name__}. Fix it, or name another file.") from error
    return dict(parser.items(section)) if parser.has_section(section) else {}


# The signature


class HashedBody(bytes):
    """A body whose SHA-256 is known. A wire makes it that doesn't hash the beginning of a conversation anew for each request."""

    sha256: str

    def __new__(cls, body: bytes, sha256: str) -> Self:
        """Return the body with its hash, in hexadecimal."""
        made = super().__new__(cls, body)
        made.sha256 = sha256
        return made


class AwsSigner:
    """Signs the POST requests of one host for one service and region. Called for each request, as an endpoint's `authorize`."""

    __slots__ = ("_credentials", "_forms", "_host", "_key", "_region", "_service", "_stamp")

    def __init__(self, credentials: AwsCredentials, *, host: str, region: str, service: str) -> None:
        self._credentials = credentials
        self._host = host
        self._region = region
        self._service = service
        self._key: tuple[str, hmac.HMAC | None] = "", None  # of a day
        self._stamp = 0, ""  # of a second
        self._forms: dict[str, _CanonicalForm] = {}  # by target: an endpoint has one or two

    async def __call__(self, target: str, body: bytes) -> dict[str, str]:
        """Return the headers that authorize this request now."""
        second = int(time())
        if self._stamp[0] != second:
            self._stamp = second, datetime.fromtimestamp(second, UTC).strftime(_STAMP)
        return self._sign(target, body, self._stamp[1])

    def sign(self, target: str, body: bytes, at: datetime) -> dict[str, str]:
        """Return the headers that authorize a request for `target` (its path and query, as they are sent) at this time."""
        return self._sign(target, body, at.strftime(_STAMP))

    def _sign(self, target: str, body: bytes, stamp: str) -> dict[str, str]:
        form = self._forms.get(target)
        if form is None:
            form = self._forms[target] = _CanonicalForm.of(target, self._host, self._credentials.session_token)
        scope = f"{stamp[:8]}/{self._region}/{self._service}/aws4_request"
        digest = body.sha256 if isinstance(body, HashedBody) else hashlib.sha256(body).hexdigest()
        canonical = f"{form.before_date}{stamp}{form.after_date}{digest}"
        request = hashlib.sha256(canonical.encode()).hexdigest()
        signature = self._start_signature(stamp[:8])
        signature.update(f"{_ALGORITHM}\n{stamp}\n{scope}\n{request}".encode())
        credential = f"{self._credentials.access_key_id}/{scope}"
        authorization = f"{_ALGORITHM} Credential={credential}, SignedHeaders={form.names}, Signature={signature.hexdigest()}"
        return {**form.sent, "x-amz-date": stamp, "authorization": authorization}

    def _start_signature(self, day: str) -> hmac.HMAC:
        """Return a keyed hash that has read nothing yet. The key of a day is derived, and expanded, once."""
        known, keyed = self._key
        if keyed is None or known != day:
            key = f"AWS4{self._credentials.secret_access_key}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            keyed = hmac.new(key, digestmod="sha256")
            self._key = day, keyed
        return keyed.copy()


class _CanonicalForm(Struct, frozen=True):
    """What is signed of every request for a target, around its date and before the digest of its body."""

    names: str  # of the signed headers
    sent: dict[str, str]  # those that the endpoint doesn't write
    before_date: str
    after_date: str

    @classmethod
    def of(cls, target: str, host: str, token: str) -> Self:
        """Return the form of the requests for a target; names are in alphabetical order, as both lists have to be."""
        path, _, query = target.partition("?")
        fields = {
            "content-type": _CONTENT_TYPE,
            "host": host,
            "x-amz-date": "",
            **({"x-amz-security-token": token} if token else {}),
        }
        names = ";".join(fields)
        lines = "".join([f"{name}:{' '.join(value.split())}\n" for name, value in fields.items()])
        before, dated, after = lines.partition("x-amz-date:")
        before = "\n".join(["POST", _canonicalize_path(path), _canonicalize_query(query), before + dated])
        sent = {name: value for name, value in fields.items() if value and name != "host"}
        return cls(names, sent, before, f"{after}\n{names}\n")


def _canonicalize_path(path: str) -> str:
    """Return the path as it is signed: normalized, and percent-encoded twice, as all services but S3 require."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return quote(f"/{'/'.join(kept)}{'/' if kept and path.endswith('/') else ''}", safe="/~")


def _canonicalize_query(query: str) -> str:
    pairs = sorted((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&"))) if query else []
    return "&".join(f"{name}={value}" for name, value in pairs)
