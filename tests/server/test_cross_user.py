"""One user tries every route with the ids of another's runs, jobs, projects and sessions: at least 200 attempts, none succeeds."""

import asyncio
import itertools
import re

import aiohttp

from assistants.courses.course_setup import SAILING, add, write
from server.everyone import ASSISTANTS, SETTINGS, Spokesman, _made
from server.running import Serving, host
from treadle.demo.platform import start_demo
from treadle.home import close_homes, open_user_home
from treadle.server.tenants import host_for_user
from treadle.stores.accounts import User
from treadle.stores.users import USERS_FILE, Users

BODIES = ({}, {"message": "x"}, {"approved": True}, {"question": "x"}, {"title": "x"}, {"entry": 1})
PARAMETER = re.compile(r"{(\w+)}")
KINDS = {"run_id": "run_id", "job_id": "job_id", "project_id": "project_id", "session_id": "session_id", "id": "run_id"}
OTHERS = {"call_id": "c1", "run": "answered"}


def attempts(document, known):
    """Every operation whose path has an id of another user, with each of these ids and several bodies."""
    for path, operations in document["paths"].items():
        names = PARAMETER.findall(path)
        of_kind = [getattr(known, KINDS[name]) for name in names if name in KINDS]
        if not of_kind:
            continue
        for ids in itertools.product(*of_kind):
            given = iter(ids)
            filled = PARAMETER.sub(lambda found, given=given: next(given) if found[1] in KINDS else OTHERS.get(found[1], "x"), path)
            for method in operations:
                for body in (None,) if method in ("get", "delete") else BODIES:
                    yield method.upper(), filled, body


def test_no_route_gives_a_user_anything_of_another(tmp_path, monkeypatch):
    (tmp_path / "treadle.toml").write_text(SETTINGS)
    users = Users(tmp_path / "data" / USERS_FILE)
    anna, ben = users.add("anna"), users.add("ben")
    with start_demo() as demo:
        given = {"HOME": tmp_path, "TREADLE_CONFIG": tmp_path / "treadle.toml", "TREADLE_PLATFORM_SERVER": demo.url}
        for name, value in {**given, "TREADLE_PLATFORM_TOKEN": demo.token("alice")}.items():
            monkeypatch.setenv(name, str(value))
        lent = host(tmp_path, Spokesman())
        hers = host_for_user(lent, User("anna"))
        hers.folder.mkdir(parents=True)
        monkeypatch.chdir(hers.folder)
        known = asyncio.run(_made(hers))
        known = type(known)(*[[each for each in ids if each != "nothing"] for ids in known])
        add(hers.home.folder, write(tmp_path / "material", sailing=SAILING))
        with Serving(tmp_path, ASSISTANTS, lent=lent, users=users) as server:
            tried, succeeded, controls = asyncio.run(try_all(server.url, anna, ben, known))
    assert open_user_home(lent.home, "ben").folder != hers.home.folder
    close_homes()
    assert controls >= 5  # for their owner, the same addresses lead somewhere
    assert tried >= 200
    assert succeeded == []


async def try_all(url, anna, ben, known):
    async with aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def ask(token, method, path, body=None):
            headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
            async with session.request(method, path, json=body, headers=headers, allow_redirects=False) as answer:
                return answer.status

        async with session.get("/openapi.json", headers={"authorization": f"Bearer {ben}"}) as answer:
            document = await answer.json()
        tries = list(attempts(document, known))
        succeeded = [each for each in tries if await ask(ben, *each) < 400]
        reads = [
            path
            for method, path, _ in tries
            if method == "GET" and path.startswith("/api/runs/") and path.endswith(tuple(known.run_id))
        ]
        controls = [path for path in reads + [f"/api/jobs/{job}" for job in known.job_id] if await ask(anna, "GET", path) == 200]
    return len(tries), succeeded, len(controls)
