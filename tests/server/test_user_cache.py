"""Who shows a credential: known for a second, and looked up beside whatever else goes on."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import aiohttp
import pytest
from starlette.routing import Route

from server.running import Serving, assistant
from treadle.routes import stream_response
from treadle.server.auth import AuthMiddleware
from treadle.server.user_cache import CACHE_SECONDS, UNAVAILABLE, RequestCredential, UserCache, UserLookupUnavailable
from treadle.stores.accounts import Allowance, User
from treadle.stores.sqlite_users import UsersError
from treadle.stores.users import USERS_FILE, Users


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def users(tmp_path):
    return Users(tmp_path / USERS_FILE)


def bearer(token):
    return RequestCredential("authorization", token)


def held(path):
    """Another process that has the file to itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return closing(connection)


def test_somebody_is_known_by_a_token_or_a_session_and_by_nothing_else(users):
    knowing, token = UserCache(users), users.add("anna")
    session = users.begin_session("anna")

    async def shown():
        given = [bearer(token), RequestCredential("x-api-key", token), RequestCredential("cookie", session), bearer(session)]
        return [await knowing.person(each) for each in (*given, RequestCredential("cookie", token), RequestCredential(""))]

    assert asyncio.run(shown()) == [*[User("anna")] * 3, None, None, None]


def test_what_was_changed_counts_after_a_second_and_who_was_unknown_is_looked_up_each_time(users):
    clock = Clock()
    knowing, token = UserCache(users, clock), users.add("anna")

    async def shown():
        seen = [await knowing.person(bearer(token))]
        users.change("anna", role="reader", allowance=Allowance(requests=1))
        clock.now = CACHE_SECONDS - 0.01
        seen.append(await knowing.person(bearer(token)))
        clock.now = CACHE_SECONDS
        seen.append(await knowing.person(bearer(token)))
        renewed = users.renew("anna")
        clock.now = 2 * CACHE_SECONDS
        return [*seen, await knowing.person(bearer(token)), await knowing.person(bearer(renewed))]

    reader = User("anna", "reader", Allowance(requests=1))
    assert asyncio.run(shown()) == [User("anna"), User("anna"), reader, None, reader]


def test_what_is_forgotten_is_looked_up_again_and_only_so_much_is_remembered(users):
    knowing = UserCache(users, Clock(), most=2)
    tokens = [users.add(name) for name in ("anna", "ben", "cora")]

    async def shown():
        for token in tokens:
            await knowing.person(bearer(token))
        for name in ("anna", "ben", "cora"):
            users.remove(name)
        knowing.forget(bearer(tokens[2]))
        knowing.forget(bearer("never seen"))
        return [await knowing.person(bearer(token)) for token in tokens]

    assert asyncio.run(shown()) == [None, User("ben"), None]


def test_where_the_users_cannot_be_looked_up_that_is_said_soon_and_passes(users):
    token = users.add("anna")

    async def shown():
        knowing = UserCache(users, patience=0.1)
        with held(users.path) as other:
            answers = await asyncio.gather(*[knowing.person(bearer(token)) for _ in range(5)], return_exceptions=True)
            other.execute("ROLLBACK")
        async with asyncio.timeout(120):
            while True:
                try:
                    return answers, await knowing.person(bearer(token))
                except UserLookupUnavailable:
                    continue

    answers, person = asyncio.run(shown())
    assert [(type(each), each.status_code, each.headers) for each in answers] == [
        (UserLookupUnavailable, 503, {"retry-after": "5"})
    ] * 5
    assert person == User("anna")


def test_a_file_that_cannot_be_read_at_all_is_told_as_what_it_is(users):
    users.add("anna")
    users.path.write_bytes(b"damaged" * 1000)
    with pytest.raises(UsersError):
        asyncio.run(UserCache(users).person(bearer("treadle_anna_x")))


def test_nobody_else_waits_while_the_file_of_users_is_held(tmp_path):
    users = Users(tmp_path / "data" / USERS_FILE)
    token = users.add("anna")

    async def ask(server):
        async with aiohttp.ClientSession(server.url, headers={"authorization": f"Bearer {token}"}) as session:
            with held(users.path) as other:
                mine = asyncio.create_task(session.get("/api/me"))
                await asyncio.sleep(0)
                async with session.get("/health") as health:
                    seen = (health.status, mine.done())
                async with await mine as answer:
                    refused = answer.status, answer.headers["retry-after"], (await answer.json())["error"]
                other.execute("ROLLBACK")
            return seen, refused

    with Serving(tmp_path, users=users) as server:
        assert asyncio.run(ask(server)) == ((200, False), (503, "5", UNAVAILABLE))


def test_what_is_being_sent_goes_on_while_nobody_can_be_looked_up(tmp_path):
    users, clock, go_on = Users(tmp_path / "data" / USERS_FILE), Clock(), threading.Event()
    token = users.add("anna")

    def routes(lent):
        async def told():
            yield {"number": 0}
            await asyncio.to_thread(go_on.wait, 20)
            yield {"number": 1}

        return [Route("/api/live", lambda request: stream_response(told()))]

    async def listen(server):
        mine = {"authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(server.url, headers=mine) as session, session.get("/api/live") as answer:
            first = await answer.content.readline()
            with held(users.path) as other:
                clock.now += 6
                go_on.set()
                rest = await answer.content.read()
                other.execute("ROLLBACK")
            return first, rest

    def around(app):
        next(each for each in app.user_middleware if each.cls is AuthMiddleware).kwargs["clock"] = clock
        return app

    with Serving(tmp_path, [assistant("x", routes=routes)], users=users, around=around) as server:
        assert asyncio.run(listen(server)) == (b'data: {"number":0}\n', b'\ndata: {"number":1}\n\n')
