"""The OpenID Connect provider of a server: its endpoints and keys, and what a code from it says about who signs in.

The authorization code flow with PKCE. An ID token counts only if a key of the provider signed it, with an asymmetric
algorithm, for this client, at this sign-in (nonce), and not too long ago. `oidc_login` has the routes.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from treadle.core.errors import SettingsError
from treadle.core.log import log
from treadle.http_guard.client import Client, GuardedResponse
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import HttpProblem
from treadle.http_guard.resolver import is_local_host
from treadle.settings.schema import OidcSettings

SECRET_VARIABLE = "TREADLE_OIDC_SECRET"  # noqa: S105 - the name of one
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")  # never HS256 or none
LEEWAY = 60  # seconds that the clocks of two machines may differ by
DOCUMENT_SECONDS = 3600.0  # for which the provider's document counts
KEYS_SECONDS = 600.0  # for which its keys count
KEYS_PAUSE = 30.0  # seconds between two looks for a key that isn't among them
TIMEOUT = 10.0  # seconds of a request to the provider
MAX_BYTES = 500_000  # of a response

UNREACHABLE = "The identity provider can't be reached at the moment: try again later, or sign in with a token."
UNTRUSTED = "The identity provider's answer isn't accepted: {}. Sign in again; if that fails, ask the server's administrator."

Document = TypeVar("Document", bound=Struct)
Fetch = Callable[[str, str, Mapping[str, str], bytes | None], Awaitable[GuardedResponse]]


class SignInAttempt(Struct, frozen=True):
    """The secrets of one sign-in, which stay in the browser's cookie until it comes back, and where it goes afterwards."""

    state: str
    nonce: str
    verifier: str
    next: str

    @property
    def challenge(self) -> str:
        """The PKCE challenge of the verifier (S256)."""
        return base64.urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class ProviderIdentity(Struct, frozen=True):
    """Who the provider says has signed in."""

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...]
    id_token: str = ""


class ProviderDocument(Struct, frozen=True):
    """What is used of a provider's discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False
    end_session_endpoint: str = ""


class _TokenResponse(Struct, frozen=True):
    id_token: str


def new_attempt(after: str) -> SignInAttempt:
    """Return the secrets of a sign-in that leads to a path of this server."""
    return SignInAttempt(token_urlsafe(32), token_urlsafe(32), token_urlsafe(48), after)


def check_oidc(settings: OidcSettings) -> None:
    """Raise with a sentence where the settings can't be used: without a client, without TLS, or without the package."""
    from importlib.util import find_spec

    if not settings.client_id:
        raise SettingsError("oidc.issuer is set, and oidc.client_id isn't: set the id that the provider knows this server by.")
    target = parse_target(settings.issuer)
    if target.origin.scheme != "https" and not is_local_host(target.origin.host):
        raise SettingsError("oidc.issuer has to be https://…: over http, anyone on the way could sign in as any user.")
    if find_spec("jwt") is None:
        raise SettingsError("Signing in with OpenID Connect needs PyJWT, which isn't installed: pip install 'treadle[oidc]'")


class OidcProvider:
    """One provider, by its issuer. `fetch` sends a request; by the guarded client unless given."""

    def __init__(
        self, settings: OidcSettings, secret: str = "", *, fetch: Fetch | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._fetch = fetch or self._send
        self._clock = clock
        self._local = is_local_host(parse_target(settings.issuer).origin.host)
        self._document: tuple[float, ProviderDocument] | None = None
        self._keys: tuple[float, dict[str, Any]] | None = None

    async def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Return the address at the provider that a browser goes to."""
        found = await self._find_document()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scopes))),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return _add_query(found.authorization_endpoint, asked)

    async def check_issuer(self, issuer: str | None) -> None:
        """Raise where a response names another issuer, or none though the provider always does (RFC 9207)."""
        found = await self._find_document()
        if issuer is None and not found.authorization_response_iss_parameter_supported:
            return
        if issuer != found.issuer:
            raise refusal("it comes from another issuer")

    async def redeem(self, code: str, attempt: SignInAttempt, redirect_uri: str) -> ProviderIdentity:
        """Redeem a code, once, and return who has signed in."""
        found = await self._find_document()
        headers, fields = self._client_credentials(found)
        fields |= {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        response = await self._request("POST", found.token_endpoint, headers, urlencode(fields).encode())
        if response.status != 200:
            log.warning("The identity provider refused a code with status %d", response.status)
            raise refusal("it refuses the code of this sign-in, which may have been used already")
        token = _decode(response, _TokenResponse).id_token
        return replace(self._identity(await self._verify(token), attempt.nonce), id_token=token)

    async def end_session_url(self, id_token: str, redirect_uri: str) -> str:
        """Return the address at the provider that ends its session (RP-initiated logout); empty where it has none.

        Without an ID token, the provider may ask the user whether to sign out.
        """
        found = await self._find_document()
        if not found.end_session_endpoint:
            return ""
        asked = {"client_id": self._settings.client_id, "post_logout_redirect_uri": redirect_uri}
        return _add_query(found.end_session_endpoint, {**({"id_token_hint": id_token} if id_token else {}), **asked})

    def _client_credentials(self, found: ProviderDocument) -> tuple[dict[str, str], dict[str, str]]:
        """Return headers and fields that authenticate this server at the token endpoint."""
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        client = self._settings.client_id
        if not self._secret:
            return headers, {"client_id": client}
        if "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            pair = f"{quote(client, safe='')}:{quote(self._secret, safe='')}"
            return {**headers, "authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}
        return headers, {"client_id": client, "client_secret": self._secret}

    async def _verify(self, token: str) -> dict[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience and times are right."""
        import jwt

        found = await self._find_document()
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                raise refusal("its token isn't signed with an algorithm that is accepted")
            key = await self._find_key(found, header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._settings.client_id,
                issuer=found.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
            )
        except jwt.PyJWTError as error:
            raise refusal(_describe(error)) from error
        audience = claims["aud"]
        many = isinstance(audience, list) and len(audience) > 1  # pyright: ignore[reportUnknownArgumentType]
        if claims.get("azp", self._settings.client_id if not many else "") != self._settings.client_id:
            raise refusal("its token was issued to another client")
        return claims

    def _identity(self, claims: dict[str, Any], nonce: str) -> ProviderIdentity:
        if not compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise refusal("its token belongs to another sign-in")
        named, groups = claims.get(self._settings.name_claim), claims.get(self._settings.groups_claim, [])
        listed: list[object] = list(groups) if isinstance(groups, list) else [groups]  # pyright: ignore[reportUnknownArgumentType]
        texts = [each for each in listed if isinstance(each, str) and each]
        return ProviderIdentity(str(claims["iss"]), str(claims["sub"]), named if isinstance(named, str) else "", tuple(texts))

    async def _find_key(self, found: ProviderDocument, kid: object) -> Any:
        """Return the key of a signature; keys are fetched again where it isn't among those that are known."""
        now = self._clock()
        if self._keys is None or now - self._keys[0] >= KEYS_SECONDS:
            await self._fetch_keys(found)
        key = self._key_named(kid)
        if key is None and self._keys is not None and now - self._keys[0] >= KEYS_PAUSE:
            await self._fetch_keys(found)
            key = self._key_named(kid)
        if key is None:
            raise refusal("its token is signed with a key that isn't the provider's")
        return key

    def _key_named(self, kid: object) -> Any:
        assert self._keys is not None, "they were fetched before"
        known = self._keys[1]
        if kid is None and len(known) == 1:
            return next(iter(known.values()))
        return known.get(kid) if isinstance(kid, str) else None

    async def _fetch_keys(self, found: ProviderDocument) -> None:
        import jwt

        response = await self._request("GET", found.jwks_uri, {"accept": "application/json"}, None)
        try:
            keys = jwt.PyJWKSet.from_dict(json.loads(response.body)).keys if response.status == 200 else []
        except (ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
            raise HTTPException(502, UNREACHABLE) from error
        self._keys = self._clock(), {key.key_id or "": key for key in keys if key.public_key_use in (None, "sig")}

    async def _find_document(self) -> ProviderDocument:
        if self._document is None or self._clock() - self._document[0] >= DOCUMENT_SECONDS:
            url = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            response = await self._request("GET", url, {"accept": "application/json"}, None)
            found = _decode(response, ProviderDocument)
            if found.issuer != self._settings.issuer:
                log.error("The provider at %s says that it is another one: %r", self._settings.issuer, found.issuer)
                raise refusal("it says that it is another provider than the one of this server")
            self._check_endpoints(found)
            self._document = self._clock(), found
        return self._document[1]

    def _check_endpoints(self, found: ProviderDocument) -> None:
        """Raise where an endpoint would be used without TLS. A provider on this machine or its network may be."""
        try:
            ending = [found.end_session_endpoint] if found.end_session_endpoint else []
            used = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri, *ending)
            targets = [parse_target(each) for each in used]
        except HttpProblem as error:
            raise refusal("its document has an address that can't be used") from error
        if not self._local and any(target.origin.scheme != "https" for target in targets):
            raise refusal("its document has an address without TLS")

    async def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> GuardedResponse:
        try:
            return await self._fetch(method, url, headers, body)
        except HttpProblem as error:
            log.warning("The identity provider can't be reached: %s", error)
            raise HTTPException(502, UNREACHABLE) from error

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> GuardedResponse:
        origin = str(parse_target(url).origin)
        client = Client([origin], private=self._local or self._settings.private, timeout=TIMEOUT, limit=MAX_BYTES)
        return await client.send(method, url, headers=headers, body=body)


def _add_query(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def refusal(why: str) -> HTTPException:
    """Return the error for a sign-in that isn't accepted."""
    return HTTPException(401, UNTRUSTED.format(why))


def _decode(response: GuardedResponse, kind: type[Document]) -> Document:
    try:
        return msgspec.json.decode(response.body if response.status == 200 else b"", type=kind)
    except ValueError as error:
        log.warning("The identity provider's response can't be used: %s", error)
        raise HTTPException(502, UNREACHABLE) from error


def _describe(error: Exception) -> str:
    """Describe why a token isn't valid."""
    import jwt

    reasons: dict[type[Exception], str] = {
        jwt.ExpiredSignatureError: "its token has expired",
        jwt.InvalidAudienceError: "its token is for another application",
        jwt.InvalidIssuerError: "its token comes from another issuer",
        jwt.InvalidSignatureError: "the signature of its token is wrong",
        jwt.MissingRequiredClaimError: "its token lacks a claim that is needed",
        jwt.ImmatureSignatureError: "its token isn't valid yet",
    }
    return next((reasons[kind] for kind in type(error).__mro__ if kind in reasons), "its token can't be read")
