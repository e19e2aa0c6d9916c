"""Sign-in with an identity provider: a browser goes to the provider, comes back with a code, and gets a session.

The secrets of a sign-in are in an encrypted cookie of the browser that began it, so any server with the same users can
finish it. Users are known by issuer and subject, never by a name that they can choose: one whose name is taken isn't let in.
"""

import asyncio
import re
from hashlib import sha256
from hmac import compare_digest
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from treadle.core.errors import SettingsError
from treadle.core.log import log
from treadle.routes import get
from treadle.server.login import ID_COOKIE, LOGIN, LOGOUT, is_https, set_session_cookie
from treadle.server.oidc import OidcProvider, ProviderIdentity, SignInAttempt, new_attempt, refusal
from treadle.settings.schema import OidcSettings
from treadle.stores.accounts import Role, User
from treadle.stores.users import Users, is_user_name

OIDC, CALLBACK = f"{LOGIN}/oidc", f"{LOGIN}/oidc/callback"
ATTEMPT_COOKIE = "treadle_sign_in"
MAX_ID_COOKIE = 3_800  # bytes; browsers drop longer cookies
ATTEMPT_SECONDS = 600  # that a sign-in at the provider may take
KEY_NAME = "sign-in"
MAX_NEXT = 2_000  # characters of a path

NO_ATTEMPT = "This sign-in wasn't begun in this browser, or took longer than ten minutes. Begin again at /login."
DENIED = "The identity provider didn't sign you in: {}. Begin again at /login."
NO_ROLE = "You have signed in, but no group of yours may use this server. Its administrator decides which groups may."
NAME_TAKEN = (
    "There is a user {name} here already, who isn't linked to your identity. The server's administrator can link it:"
    " treadle users link {name} {subject}"
)
_PLAIN = re.compile(r"[a-z0-9._~!$&'(),;=:@%/?*+-]*", re.IGNORECASE)


def safe_path(path: str) -> str:
    """Return a path of this server, to go to after sign-in; `/` for anything that could lead elsewhere."""
    plain = path.startswith("/") and len(path) <= MAX_NEXT and _PLAIN.fullmatch(path) is not None
    return path if plain and "//" not in path and "/.." not in path and not path.startswith(LOGIN) else "/"


def role_for(groups: tuple[str, ...], settings: OidcSettings) -> Role | None:
    """Return the strongest role that groups give; None where they give none. Without lists of groups, everyone is a user."""
    named: tuple[tuple[Role, tuple[str, ...]], ...] = (
        ("admin", settings.admin_groups),
        ("user", settings.user_groups),
        ("reader", settings.reader_groups),
    )
    for role, names in named:
        if not set(names).isdisjoint(groups):
            return role
    return None if settings.user_groups or settings.reader_groups else "user"


def name_for(identity: ProviderIdentity) -> str:
    """Return a user's name for an identity: of its claim what a name may have, else one made of its subject."""
    name = re.sub(r"[^a-z0-9._-]+", "-", identity.name.partition("@")[0].lower()).strip("-._")[:40]
    return name if is_user_name(name) else f"user-{sha256(f'{identity.issuer} {identity.subject}'.encode()).hexdigest()[:12]}"


def admit(users: Users, identity: ProviderIdentity, settings: OidcSettings) -> User:
    """Return the user of an identity, added at the first sign-in, with the groups and the role of now. Raises 403."""
    role = role_for(identity.groups, settings)
    if role is None:
        raise HTTPException(403, NO_ROLE)
    known = users.person_of_identity(identity.issuer, identity.subject)
    if known is not None:
        decides = settings.admin_groups or settings.user_groups or settings.reader_groups
        return users.change(known.name, role if decides else None, groups=identity.groups)
    name = name_for(identity)
    try:
        users.add(name, role, groups=identity.groups)
    except SettingsError as error:
        raise HTTPException(403, NAME_TAKEN.format(name=name, subject=identity.subject)) from error
    users.link_identity(name, identity.issuer, identity.subject)
    return users.get(name)


class OidcLoginApi:
    """The handlers of a sign-in with an identity provider."""

    def __init__(self, users: Users, provider: OidcProvider, settings: OidcSettings, public_url: str = "") -> None:
        self._users = users
        self._provider = provider
        self._settings = settings
        self._public_url = public_url.rstrip("/")
        self._key = b""

    @get(OIDC, public=True, listed=False)
    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        attempt = new_attempt(safe_path(request.query_params.get("next", "/")))
        url = await self._provider.authorization_url(attempt, self._redirect_uri(request))
        response = RedirectResponse(url, 303)
        response.set_cookie(
            ATTEMPT_COOKIE,
            await self._encrypt(attempt),
            max_age=ATTEMPT_SECONDS,
            path=OIDC,
            httponly=True,
            samesite="lax",  # the browser comes back from another site
            secure=is_https(request),
        )
        return response

    @get(CALLBACK, public=True, listed=False)
    async def finish(self, request: Request) -> Response:
        """Start a session for a browser that comes back from the provider with a code."""
        said = request.query_params
        attempt = await self._decrypt(request.cookies.get(ATTEMPT_COOKIE, ""))
        if attempt is None or not compare_digest(said.get("state", "").encode(), attempt.state.encode()):
            raise HTTPException(400, NO_ATTEMPT)
        await self._provider.check_issuer(said.get("iss"))
        if "error" in said:
            raise HTTPException(403, DENIED.format(re.sub(r"[^\w -]", "", said["error"])[:100] or "it gave no reason"))
        if not said.get("code"):
            raise refusal("it has no code")
        identity = await self._provider.redeem(said["code"], attempt, self._redirect_uri(request))
        person = await asyncio.to_thread(admit, self._users, identity, self._settings)
        seconds = self._settings.session_hours * 3600
        secret = await asyncio.to_thread(self._users.begin_session, person.name, seconds)
        log.info("%s has signed in with %s", person.name, identity.issuer)
        # a session's cookie isn't sent with a redirect from another site: the page at /login goes on from there
        response = RedirectResponse(f"{LOGIN}?{urlencode({'next': attempt.next})}", 303)
        response.delete_cookie(ATTEMPT_COOKIE, path=OIDC, httponly=True, samesite="lax", secure=is_https(request))
        await self._set_id_cookie(request, identity.id_token, response, seconds)
        return set_session_cookie(request, secret, response, seconds=seconds)

    async def _set_id_cookie(self, request: Request, id_token: str, response: Response, seconds: float) -> None:
        """Set the cookie with the ID token, encrypted; without the token where it is too long."""
        cipher = await self._cipher()
        value = cipher.encrypt(id_token.encode()).decode()
        if len(value) > MAX_ID_COOKIE:
            value = cipher.encrypt(b"").decode()
        safe = is_https(request)
        response.set_cookie(ID_COOKIE, value, max_age=int(seconds), path=LOGOUT, httponly=True, samesite="strict", secure=safe)

    async def sign_out_url(self, request: Request) -> str:
        """Return the address at the provider that ends its session; empty for a session that didn't begin there.

        A provider that can't be reached doesn't keep a user from signing out here.
        """
        from cryptography.fernet import InvalidToken

        try:
            id_token = (await self._cipher()).decrypt(request.cookies.get(ID_COOKIE, "").encode()).decode()
            return await self._provider.end_session_url(id_token, f"{self._base_url(request)}{LOGIN}")
        except (InvalidToken, ValueError, HTTPException):
            return ""

    def _base_url(self, request: Request) -> str:
        return self._public_url or f"{request.url.scheme}://{request.headers['host']}"

    def _redirect_uri(self, request: Request) -> str:
        return f"{self._base_url(request)}{CALLBACK}"

    async def _encrypt(self, attempt: SignInAttempt) -> str:
        return (await self._cipher()).encrypt(msgspec.json.encode(attempt)).decode()

    async def _decrypt(self, cookie: str) -> SignInAttempt | None:
        from cryptography.fernet import InvalidToken

        try:
            return msgspec.json.decode((await self._cipher()).decrypt(cookie.encode(), ttl=ATTEMPT_SECONDS), type=SignInAttempt)
        except (InvalidToken, ValueError):
            return None

    async def _cipher(self):  # noqa: ANN202 - of a package that is imported when it is used
        from base64 import urlsafe_b64encode

        from cryptography.fernet import Fernet

        self._key = self._key or await asyncio.to_thread(self._users.key, KEY_NAME)
        return Fernet(urlsafe_b64encode(self._key))
