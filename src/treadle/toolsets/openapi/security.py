"""Authentication: the user's credentials, put into a request where the document wants them. No model sees any of it.

A credential is found by the name of its scheme, or by its kind; a toolset may map names to others, and then uses no others.
"""

from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty

BEARER = ("bearer", "token")


class CredentialMissing(ToolProblem):
    """A call needs a credential that its caller doesn't have. `schemes` are the names of those that would do."""

    def __init__(self, schemes: tuple[str, ...], wanted: str) -> None:
        super().__init__(f"This needs the person to be signed in ({wanted}), and they aren't. Tell them to; nothing was sent.")
        self.schemes = schemes


class SecurityScheme(Struct, frozen=True):
    """One security scheme. `kind` is `bearer`, `basic`, `api_key` or another HTTP scheme; `where` is for keys."""

    name: str
    kind: str
    where: str = ""
    key: str = ""


class RequestCredentials(Struct, frozen=True):
    """What a request carries to authenticate the caller, and the secrets in it."""

    headers: dict[str, str] = {}
    query: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Attached()"


class SecuritySchemes:
    """The schemes of a document. `names` maps schemes, or kinds, to the names of credentials here; None: each has its own name."""

    def __init__(self, document: OpenApiDocument, names: Mapping[str, str] | None) -> None:
        told = object_or_empty(object_or_empty(document.root.get("components")).get("securitySchemes"))
        self._schemes = {name: _parse_scheme(name, document.dereference(each)) for name, each in told.items()}
        self._default = document.root.get("security")
        self._names = names
        kinds = [] if self._schemes else [kind for kind in names or () if kind in (*BEARER, "basic")]
        self._undescribed = tuple([(SecurityScheme(kind, kind),) for kind in kinds])

    @property
    def parameters(self) -> frozenset[tuple[str, str]]:
        """The locations where secrets go, which are no parameters for a model."""
        keys = [each for each in self._schemes.values() if each.kind == "api_key"]
        return frozenset([(each.where, each.key.lower() if each.where == "header" else each.key) for each in keys])

    def alternatives(self, operation: JsonObject) -> tuple[tuple[SecurityScheme, ...], ...]:
        """Return the groups of schemes that an operation accepts, any one of them; none where it needs none."""
        told = list_or_empty(operation.get("security", self._default))
        if not told:
            return (*self._undescribed, ()) if self._undescribed else ()
        return tuple([tuple([self._find_scheme(name) for name in object_or_empty(each)]) for each in told])

    def _find_scheme(self, name: str) -> SecurityScheme:
        return self._schemes.get(name, SecurityScheme(name, "unknown"))

    def attach(self, wanted: Sequence[Sequence[SecurityScheme]], credentials: Mapping[str, str]) -> RequestCredentials:
        """Attach the first group of schemes for which every credential is available."""
        for group in sorted(wanted, key=lambda group: not group):  # anonymous comes last
            found = [self._find_credential(scheme, credentials) for scheme in group]
            if all(secret for secret in found):
                return _merge([_attach_one(scheme, secret) for scheme, secret in zip(group, found, strict=True)])
        if not wanted:
            return RequestCredentials()
        named = " or ".join(dict.fromkeys([" and ".join([scheme.name for scheme in group]) for group in wanted]))
        raise CredentialMissing(tuple(dict.fromkeys([scheme.name for group in wanted for scheme in group])), named)

    def _find_credential(self, scheme: SecurityScheme, credentials: Mapping[str, str]) -> str:
        """Return the credential for a scheme: by the configured names, else by its own name, else by its kind."""
        kinds = BEARER if scheme.kind == "bearer" else (scheme.kind,)
        if self._names is not None:
            names = [self._names[each] for each in (scheme.name, *kinds) if each in self._names]
        else:
            names = [scheme.name, *kinds]
        return next((credentials[name] for name in names if credentials.get(name)), "")


def _parse_scheme(name: str, told: JsonObject) -> SecurityScheme:
    match told.get("type"):
        case "apiKey":
            return SecurityScheme(name, "api_key", text_or_empty(told.get("in")), text_or_empty(told.get("name")))
        case "oauth2" | "openIdConnect":
            return SecurityScheme(name, "bearer")
        case "http":
            return SecurityScheme(name, text_or_empty(told.get("scheme")).lower() or "bearer")
        case _:
            return SecurityScheme(name, "unknown")


def _attach_one(scheme: SecurityScheme, secret: str) -> RequestCredentials:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in secret):
        raise ToolProblem("The person's credential has characters in it that can't be sent. They have to sign in again.")
    match scheme:
        case SecurityScheme(kind="api_key", where="query"):
            return RequestCredentials(query=((quote(scheme.key, safe=""), quote(secret, safe="")),), secrets=(secret,))
        case SecurityScheme(kind="api_key", where="cookie"):
            return RequestCredentials(
                cookies=(f"{scheme.key}={quote(secret, safe='!#$&()*+-./:<=>?@[]^_`{|}~')}",), secrets=(secret,)
            )
        case SecurityScheme(kind="api_key"):
            return RequestCredentials(headers={scheme.key: secret}, secrets=(secret,))
        case SecurityScheme(kind="basic"):
            packed = b2a_base64(secret.encode(), newline=False).decode()
            parts = (secret, packed, secret.partition(":")[2])
            return RequestCredentials(headers={"Authorization": f"Basic {packed}"}, secrets=tuple([part for part in parts if part]))
        case SecurityScheme(kind="bearer" | "token"):
            return RequestCredentials(headers={"Authorization": f"Bearer {secret}"}, secrets=(secret,))
        case SecurityScheme(kind="unknown"):
            raise ToolProblem(f"This needs the security scheme {scheme.name}, which tools can't use. Nothing was sent.")
        case _:
            return RequestCredentials(headers={"Authorization": f"{scheme.kind.title()} {secret}"}, secrets=(secret,))


def _merge(parts: Sequence[RequestCredentials]) -> RequestCredentials:
    headers: dict[str, Any] = {}
    for part in parts:
        headers.update(part.headers)
    return RequestCredentials(
        headers,
        tuple([pair for part in parts for pair in part.query]),
        tuple([cookie for part in parts for cookie in part.cookies]),
        tuple([secret for part in parts for secret in part.secrets]),
    )
