"""Sign-in with OpenID Connect: against a real provider on loopback, and against one that forges every part of its answers."""

import asyncio
import json
import time
import warnings
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.exceptions import HTTPException

from browser import needs_browser
from server.running import Serving
from treadle.core.errors import SettingsError
from treadle.http_guard.client import GuardedResponse
from treadle.server.login import COOKIE, ID_COOKIE
from treadle.server.oidc import OidcProvider, ProviderIdentity, check_oidc, new_attempt
from treadle.server.oidc_login import ATTEMPT_COOKIE, admit, name_for, role_for, safe_path
from treadle.server.uvicorn_server import check_access
from treadle.settings.schema import OidcSettings
from treadle.stores.users import USERS_FILE, Users

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider's own packages
ISSUER = "https://login.example.org"
SETTINGS = OidcSettings(issuer=ISSUER, client_id="treadle")
BACK = "https://treadle.example.org/login/oidc/callback"


# a real provider


@pytest.fixture(scope="module")
def provider():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from oidc_provider_mock import User, run_server_in_thread

    people = [
        User(sub="s-anna", claims={"preferred_username": "Anna@example.org", "groups": ["staff"]}),
        User(sub="s-root", claims={"preferred_username": "root", "groups": ["staff", "ops"]}),
        User(sub="s-guest", claims={"preferred_username": "guest", "groups": ["others"]}),
    ]
    with run_server_in_thread(user_claims=people, require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def users(tmp_path):
    return Users(tmp_path / "data" / USERS_FILE)


@pytest.fixture
def server(tmp_path, provider, users, monkeypatch):
    monkeypatch.setenv("TREADLE_OIDC_SECRET", "s3cret")
    settings = OidcSettings(issuer=provider, client_id="treadle", title="Example", admin_groups=("ops",), user_groups=("staff",))
    with Serving(tmp_path, users=users, oidc=settings) as serving:
        yield serving


class Visitor:
    """A browser, as far as cookies and redirects go."""

    def __init__(self, server):
        self.server = server
        self.cookies = {}

    async def ask(self, url, method="GET", data=None, accept="text/html", origin=""):
        ours = url.startswith(self.server.url)
        headers = {"accept": accept, **({"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if ours else {})}
        headers |= {"origin": origin} if origin else {}
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, allow_redirects=False, headers=headers, data=data) as answer,
        ):
            if ours:
                for name, morsel in answer.cookies.items():
                    self.cookies[name] = morsel.value
            return answer.status, answer.headers, await answer.text()

    async def begin(self, after="/runs"):
        status, headers, _ = await self.ask(f"{self.server.url}/login/oidc?{urlencode({'next': after})}")
        assert status == 303
        return headers["location"]

    async def authorize(self, url, subject):
        """Be signed in at the provider, which sends the browser back."""
        status, headers, body = await self.ask(url, "POST", {"sub": subject})
        assert status in (302, 303), body
        return headers["location"]

    async def sign_in(self, subject, after="/runs"):
        return await self.ask(await self.authorize(await self.begin(after), subject))

    async def me(self):
        status, _, body = await self.ask(f"{self.server.url}/api/me", accept="application/json")
        return status, json.loads(body)


def test_a_user_signs_in_and_out(server, users):
    async def story():
        visitor = Visitor(server)
        assert json.loads((await visitor.ask(f"{server.url}/login", accept="application/json"))[2])["provider"] == "Example"
        url = await visitor.begin()
        asked = parse_qs(urlsplit(url).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["response_type"] == ["code"]
        assert asked["redirect_uri"] == [f"{server.url}/login/oidc/callback"]
        status, headers, _ = await visitor.ask(await visitor.authorize(url, "s-anna"))
        assert (status, headers["location"]) == (303, "/login?next=%2Fruns")
        cookies = headers.getall("set-cookie")
        assert any(each.startswith(COOKIE) and "HttpOnly" in each and "SameSite=strict" in each for each in cookies)
        assert await visitor.me() == (200, {"name": "anna", "role": "user", "local": False})
        assert users.get("anna").groups == ("staff",)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            sent = {"cookie": f"{COOKIE}={visitor.cookies[COOKIE]}", "origin": server.url}
            async with session.post(f"{server.url}/logout", headers=sent) as answer:
                assert answer.status == 204
        assert (await visitor.me())[0] == 401

    asyncio.run(story())


class Page(HTMLParser):
    """The link of a page, and where it refreshes to."""

    def __init__(self, text):
        super().__init__()
        self.link = self.refresh = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.link = given["href"] if tag == "a" else self.link
        if tag == "meta" and given.get("http-equiv") == "refresh":
            self.refresh = given["content"].removeprefix("0; url=")


def test_signing_out_ends_the_session_at_the_provider_too(server, provider):
    async def story():
        visitor = Visitor(server)
        await visitor.sign_in("s-anna")
        status, headers, body = await visitor.ask(f"{server.url}/logout", "POST", origin=server.url)
        page = Page(body)
        assert (status, page.link) == (200, page.refresh)
        url = urlsplit(page.link)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        assert f"{url.scheme}://{url.netloc}{url.path}" == f"{provider}/oauth2/end_session"
        assert asked["post_logout_redirect_uri"] == f"{server.url}/login"
        assert asked["client_id"] == "treadle"
        assert jwt.decode(asked["id_token_hint"], options={"verify_signature": False})["sub"] == "s-anna"
        assert any(each.startswith(f'{ID_COOKIE}=""') for each in headers.getall("set-cookie"))
        assert (await visitor.me())[0] == 401  # whatever the provider does then
        status, _, body = await visitor.ask(page.link)  # it is a page there, which asks the user
        assert (status, "end_session/confirm" in body) == (200, True)
        confirmed = {"redirect_uri": asked["post_logout_redirect_uri"]}
        status, headers, _ = await visitor.ask(f"{provider}/oauth2/end_session/confirm", "POST", confirmed)
        assert (status, headers["location"]) == (302, f"{server.url}/login")

    asyncio.run(story())


@pytest.mark.parametrize("case", ["token", "forged", "program"])
def test_other_sessions_end_here_alone(server, users, case):
    async def story():
        visitor = Visitor(server)
        if case == "token":
            visitor.cookies[COOKIE] = users.begin_session(users.add("ben").split("_")[1])
        else:
            await visitor.sign_in("s-anna")
        if case == "forged":
            visitor.cookies[ID_COOKIE] = "gAAAA" + visitor.cookies[ID_COOKIE][5:-4] + "AAAA"
        accept = "application/json" if case == "program" else "text/html"
        status, headers, _ = await visitor.ask(f"{server.url}/logout", "POST", accept=accept, origin=server.url)
        assert (status, headers.get("location")) == ((204, None) if case == "program" else (303, "/login"))
        assert (await visitor.me())[0] == 401

    asyncio.run(story())


def test_the_address_of_a_sign_out_is_what_the_provider_says():
    def url(id_token, **document):
        provider = OidcProvider(SETTINGS, fetch=Forger(**document).fetch)
        return asyncio.run(provider.end_session_url(id_token, "https://treadle.example.org/login"))

    assert url("t") == ""  # it has none
    back = "client_id=treadle&post_logout_redirect_uri=https%3A%2F%2Ftreadle.example.org%2Flogin"
    assert url("t", end_session_endpoint=f"{ISSUER}/out?x=1") == f"{ISSUER}/out?x=1&id_token_hint=t&{back}"
    assert url("", end_session_endpoint=f"{ISSUER}/out") == f"{ISSUER}/out?{back}"  # its token was too long for a cookie


def test_groups_are_roles_and_others_are_refused(server, users):
    async def story():
        root, guest = Visitor(server), Visitor(server)
        await root.sign_in("s-root")
        assert (await root.me())[1]["role"] == "admin"
        status, _, body = await guest.sign_in("s-guest")
        assert status == 403
        assert "no group of yours" in body
        assert (await guest.me())[0] == 401
        assert [user.name for user in users.all()] == ["root"]

    asyncio.run(story())


def test_a_code_and_a_callback_count_once_and_in_one_browser(server):
    async def story():
        visitor, thief = Visitor(server), Visitor(server)
        back = await visitor.authorize(await visitor.begin(), "s-anna")
        assert (await thief.ask(back))[0] == 400  # without the cookie of the browser that began
        await thief.begin()
        assert (await thief.ask(back))[0] == 400  # with the cookie of another sign-in
        before = dict(visitor.cookies)
        assert (await visitor.ask(back))[0] == 303
        visitor.cookies = before
        status, _, body = await visitor.ask(back)  # the same code again, with the cookie from before
        assert status == 401
        assert "used already" in body

    asyncio.run(story())


@pytest.mark.parametrize(
    "change", [{"state": "x"}, {"code": "x"}, {"code": ""}, {"error": "access_denied"}, {"iss": "https://x.example"}]
)
def test_a_changed_callback_is_refused(server, change):
    async def story():
        visitor = Visitor(server)
        back = urlsplit(await visitor.authorize(await visitor.begin(), "s-anna"))
        said = {name: values[0] for name, values in parse_qs(back.query).items()} | change
        status, _, _ = await visitor.ask(f"{server.url}{back.path}?{urlencode(said)}")
        assert status in (400, 401, 403)
        assert COOKIE not in visitor.cookies

    asyncio.run(story())


def test_a_forged_cookie_of_a_sign_in_is_refused(server):
    async def story():
        visitor = Visitor(server)
        back = await visitor.authorize(await visitor.begin(), "s-anna")
        visitor.cookies[ATTEMPT_COOKIE] = "gAAAAA" + visitor.cookies[ATTEMPT_COOKIE][6:-4] + "AAAA"
        assert (await visitor.ask(back))[0] == 400

    asyncio.run(story())


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/..//evil.example",
        "/x/..//e",
        "/\tx",
        "/\nx",
        "x",
        "",
        "/login?next=//e",
    ],
)
def test_no_sign_in_leads_elsewhere(path):
    assert safe_path(path) == "/"


def test_paths_of_the_server_are_kept():
    assert safe_path("/runs/a-1?tab=calls&x=%20") == "/runs/a-1?tab=calls&x=%20"


@needs_browser
def test_the_button_of_the_sign_in_page_leads_through_the_provider_and_back(server, provider, browser):
    runner, started = browser

    async def story():
        page = await started.open(f"{server.url}/login?next=/runs")
        await page.send("Network.setBlockedURLs", urls=["https://*"])  # a style sheet of the provider's pages
        await page.wait_for("!document.querySelector('#provider').hidden")
        assert await page.text("#provider-link") == "Sign in with Example"
        await page.click("#provider-link")
        await page.wait_for(f"location.origin === {provider!r} && !!document.querySelector('button[value=s-anna]')")
        await page.click("button[value=s-anna]")
        await page.wait_for(f"location.href === {server.url + '/runs'!r} && !!document.querySelector('#side-who')")
        assert await page.text("#side-who") == "anna"
        await page.click("[aria-label='Sign out']")
        await page.wait_for(f"location.origin === {provider!r} && !!document.querySelector('form[action*=confirm] button')")
        await page.click("form[action*=confirm] button")
        await page.wait_for(f"location.href === {server.url + '/login'!r} && !document.querySelector('#provider').hidden")
        await page.close()

    runner.run(story())


# a provider that forges


class Forger:
    """A provider in this process. `claims`, `header` and `key` of its token can be anything."""

    def __init__(self, settings=SETTINGS, **document):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.settings = settings
        self.document = {
            "issuer": settings.issuer,
            "authorization_endpoint": f"{settings.issuer}/authorize",
            "token_endpoint": f"{settings.issuer}/token",
            "jwks_uri": f"{settings.issuer}/jwks",
        } | document
        self.claims = {}
        self.algorithm, self.signed_with, self.kid = "RS256", self.key, "k1"
        self.token = None
        self.asked = []
        self.status = 200

    async def fetch(self, method, url, headers, body):
        self.asked.append((method, url, dict(headers), body))
        if url.endswith("openid-configuration"):
            return self.answer(self.document)
        if url.endswith("/jwks"):
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return self.answer({"keys": [public | {"kid": "k1", "use": "sig", "alg": "RS256"}]})
        return self.answer({"id_token": self.token or self.made()}, self.status)

    def answer(self, value, status=200):
        return GuardedResponse(status, {}, json.dumps(value).encode(), "")

    def made(self):
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": "treadle", "sub": "s", "iat": now, "exp": now + 60, "nonce": self.nonce} | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, self.signed_with, self.algorithm, headers={"kid": self.kid} if self.kid else {})

    def redeem(self, secret=""):
        provider, attempt = OidcProvider(self.settings, secret, fetch=self.fetch), new_attempt("/")
        self.nonce = attempt.nonce
        self.attempt = attempt
        return asyncio.run(provider.redeem("code", attempt, BACK))


@pytest.fixture(scope="module")
def other_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def forger():
    return Forger()


def test_a_good_token_is_an_identity(forger):
    forger.claims = {"preferred_username": "anna", "groups": ["a", 7, "b", ""]}
    identity = forger.redeem()
    assert msgspec.structs.replace(identity, id_token="") == ProviderIdentity(ISSUER, "s", "anna", ("a", "b"))
    assert jwt.decode(identity.id_token, options={"verify_signature": False})["sub"] == "s"
    method, url, _, body = forger.asked[1]
    sent = parse_qs(body.decode())
    assert (method, url) == ("POST", f"{ISSUER}/token")
    assert sent["code_verifier"] == [forger.attempt.verifier]
    assert sent["client_id"] == ["treadle"]


def test_the_client_authenticates_as_the_provider_wants():
    basic, posted = Forger(), Forger(token_endpoint_auth_methods_supported=["client_secret_post"])
    basic.redeem("s3cret")
    posted.redeem("s3cret")
    assert basic.asked[1][2]["authorization"].startswith("Basic ")
    assert parse_qs(posted.asked[1][3].decode())["client_secret"] == ["s3cret"]


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "another"}, "another application"),
        ({"aud": ["treadle", "another"]}, "another client"),
        ({"azp": "another"}, "another client"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"exp": 1_000_000_000}, "expired"),
        ({"iat": 10_000_000_000}, "isn't valid yet"),
        ({"nonce": "another"}, "another sign-in"),
        ({"nonce": None}, "lacks a claim"),
        ({"exp": None}, "lacks a claim"),
        ({"sub": None}, "lacks a claim"),
    ],
)
def test_wrong_claims_are_refused(forger, claims, why):
    forger.claims = claims
    with pytest.raises(HTTPException, match=why) as refused:
        forger.redeem()
    assert refused.value.status_code == 401


def test_wrong_signatures_are_refused(forger, other_key):
    forger.signed_with = other_key
    with pytest.raises(HTTPException, match="signature"):
        forger.redeem()
    forger.kid = "k2"
    with pytest.raises(HTTPException, match="isn't the provider's"):
        forger.redeem()


@pytest.mark.filterwarnings("ignore::Warning")
def test_unsigned_and_symmetric_tokens_are_refused(forger):
    forger.algorithm, forger.signed_with = "none", None
    with pytest.raises(HTTPException, match="algorithm"):
        forger.redeem()
    forger.algorithm, forger.signed_with = "HS256", "the provider's public key, which anyone has, as a secret"
    with pytest.raises(HTTPException, match="algorithm"):
        forger.redeem()


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "e30.e30.e30"])
def test_no_token_at_all_is_refused(forger, token):
    forger.token = token or "."
    with pytest.raises(HTTPException) as refused:
        forger.redeem()
    assert refused.value.status_code == 401


def test_one_key_without_an_id_is_found(forger):
    forger.kid = None
    assert forger.redeem().subject == "s"


def test_a_refused_code_is_reported(forger):
    forger.status = 400
    with pytest.raises(HTTPException, match="refuses the code"):
        forger.redeem()


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"issuer": "https://evil.example"}, 401),
        ({"token_endpoint": "http://login.example.org/token"}, 401),
        ({"jwks_uri": "file:///etc/passwd"}, 401),
        ({"jwks_uri": None}, 502),
        ({"end_session_endpoint": "http://login.example.org/logout"}, 401),
    ],
)
def test_a_wrong_document_is_refused(document, status):
    with pytest.raises(HTTPException) as refused:
        Forger(**document).redeem()
    assert refused.value.status_code == status


def test_keys_are_fetched_again_for_a_new_one_and_not_for_each_wrong_one(other_key):
    now = [0.0]
    forger, attempt = Forger(), new_attempt("/")
    forger.nonce = attempt.nonce
    provider = OidcProvider(SETTINGS, fetch=forger.fetch, clock=lambda: now[0])

    def redeemed():
        return asyncio.run(provider.redeem("code", attempt, BACK)).subject

    def looks():
        return len([url for _, url, *_ in forger.asked if url.endswith("/jwks")])

    assert redeemed() == "s"
    forger.kid = "k2"
    for _ in range(5):
        with pytest.raises(HTTPException):
            redeemed()
    assert looks() == 1
    now[0], forger.kid = 40.0, "k1"
    forger.signed_with = forger.key = other_key
    with pytest.raises(HTTPException):
        redeemed()  # the id is the same, and the key another one: until it is fetched again
    now[0] = 700.0
    assert redeemed() == "s"
    assert looks() == 2


def test_private_addresses_of_a_public_provider_are_not_asked():
    provider = OidcProvider(OidcSettings(issuer="https://10.0.0.1.nip.example", client_id="x"))

    async def story():
        with pytest.raises(HTTPException) as refused:
            await provider._request("GET", "https://10.0.0.1/x", {}, None)
        assert refused.value.status_code == 502

    asyncio.run(story())


# users


def test_names_come_from_the_claim_or_the_subject():
    assert name_for(ProviderIdentity(ISSUER, "s", "Anna.Müller@example.org", ())) == "anna.m-ller"
    assert name_for(ProviderIdentity(ISSUER, "s", "../..", ())).startswith("user-")
    assert name_for(ProviderIdentity(ISSUER, "s", "", ())) != name_for(ProviderIdentity(ISSUER, "t", "", ()))


def test_roles_are_the_strongest_of_the_groups():
    settings = OidcSettings(admin_groups=("ops",), user_groups=("staff",), reader_groups=("all",))
    assert [role_for(groups, settings) for groups in (("all", "ops"), ("staff", "all"), ("all",), ())] == [
        "admin",
        "user",
        "reader",
        None,
    ]
    assert role_for((), OidcSettings(admin_groups=("ops",))) == "user"


def test_a_chosen_name_takes_no_account_over(users):
    users.add("anna", "admin")
    with pytest.raises(HTTPException, match="users link anna s-evil"):
        admit(users, ProviderIdentity(ISSUER, "s-evil", "anna", ()), SETTINGS)
    users.link_identity("anna", ISSUER, "s-anna")
    assert admit(users, ProviderIdentity(ISSUER, "s-anna", "somebody", ("x",)), SETTINGS).name == "anna"
    assert users.get("anna").role == "admin"  # no list of groups decides it
    users.add("ben")
    with pytest.raises(SettingsError, match="linked to the user anna"):
        users.link_identity("ben", ISSUER, "s-anna")


def test_a_group_that_was_left_takes_the_role_along(users):
    settings = msgspec.structs.replace(SETTINGS, admin_groups=("ops",), user_groups=("staff",))
    assert admit(users, ProviderIdentity(ISSUER, "s", "anna", ("ops",)), settings).role == "admin"
    assert admit(users, ProviderIdentity(ISSUER, "s", "anna", ("staff",)), settings).role == "user"
    with pytest.raises(HTTPException):
        admit(users, ProviderIdentity(ISSUER, "s", "anna", ()), settings)


def test_settings_that_cannot_be_used_are_refused_at_the_start(users):
    with pytest.raises(SettingsError, match="client_id"):
        check_oidc(OidcSettings(issuer=ISSUER))
    with pytest.raises(SettingsError, match="https"):
        check_oidc(OidcSettings(issuer="http://login.example.org", client_id="x"))
    check_oidc(OidcSettings(issuer="http://127.0.0.1:9000", client_id="x"))
    assert check_access(users, "0.0.0.0", has_provider=True) is users
