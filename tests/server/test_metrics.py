"""Figures for Prometheus."""

import asyncio
import re

import aiohttp
import pytest
from msgspec import Struct
from msgspec.structs import replace

from dead_letters import fill
from server.running import Serving
from server.runs.asking import Gate, rivers, with_server
from treadle.assistant import AssistantSession
from treadle.core.errors import ModelRefused, SettingsError
from treadle.core.events import ModelAsked, ReplyArrived
from treadle.core.requests import Usage
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls
from treadle.routes import post, routes_of
from treadle.server.metrics import Histogram, Metric, ServerMetrics, collect_metrics, format_prometheus
from treadle.server.worker_metrics import parse_metrics_address, serve_metrics
from treadle.stores.accounts import User


class Question(Struct):
    question: str
    run_id: str = ""


async def figures(ask):
    async with ask._session.get(f"{ask.url}/metrics") as answer:
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return read(await answer.text())


def read(text):
    """The values by their names and labels; what isn't in the format has none."""
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    found = [re.fullmatch(r'([a-z_]+(?:\{(?:[a-z]+="[^"]*",?)+\})?) ([0-9.e+-]+)', line) for line in lines]
    return {each[1]: float(each[2]) for each in found}


def test_runs_calls_and_readers_are_counted(tmp_path):
    gate = Gate()
    used = Usage(requests=1, input_tokens=10, output_tokens=2)
    replies = (
        replace(calls(("wait", {}), ("nothing", {})), usage=used),
        ScriptedReply(text="Done.", usage=used),
        ScriptedReply(calls=(ScriptedCall("dam", {"river": "Elbe"}),), usage=used),
        ScriptedReply(text="Dammed.", usage=used),
    )

    async def work(ask):
        run_id = (await ask("POST", "/api/runs", {"assistant": "rivers", "message": "SECRET WORDS"}))[1]["run_id"]
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        during = await figures(ask)
        gate.let_through()
        await ask.ended(run_id)
        waiting = await ask.events("/api/runs", {"run_id": run_id, "message": "Dam it"})
        between = await figures(ask)
        asked = waiting[-1].data["approvals"][0]
        await ask.events(f"/api/runs/{run_id}/approvals/{asked['call_id']}", {"approved": True, "digest": asked["digest"]})
        return during, between, await figures(ask)

    from server.runs.asking import dam

    with Serving(tmp_path, [rivers(tools=[gate.tool, dam])], Scripted(*replies)) as server:
        during, between, after = with_server(server, work)
    assert during['treadle_turns_under_way{assistant="rivers"}'] == 1
    assert during['treadle_turns_started_total{assistant="rivers"}'] == 1
    assert between["treadle_runs_waiting"] == 1
    assert after["treadle_runs_waiting"] == 0
    assert after['treadle_turns_under_way{assistant="rivers"}'] == 0
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="answered"}'] == 2
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="waiting"}'] == 1
    assert after['treadle_calls_total{effect="read",problem="none"}'] == 1
    assert after['treadle_calls_total{effect="other",problem="unknown_tool"}'] == 1
    assert after['treadle_calls_total{effect="write",problem="none"}'] == 1
    assert after["treadle_model_requests_total"] == 4
    assert after['treadle_tokens_total{kind="input"}'] == 40
    assert after["treadle_events_sent_total"] > 10
    assert after["treadle_readers"] == 0
    for name in ("process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total", "process_start_time_seconds"):
        assert after[name] > 0
    assert "SECRET" not in str(after)


def test_turns_on_the_wires_are_counted_like_any_other(tmp_path):
    used = Usage(requests=1, input_tokens=10, output_tokens=2)
    replies = (replace(calls(("dam", {"river": "Elbe"})), usage=used), ModelRefused("No.", status=400))

    async def work(ask):
        asked = {"model": "rivers", "messages": [{"role": "user", "content": "Dam it."}]}
        answers = [await ask("POST", "/v1/chat/completions", asked) for _ in range(2)]
        return [status for status, _ in answers], await figures(ask)

    from server.runs.asking import dam

    with Serving(tmp_path, [rivers(tools=[dam])], Scripted(*replies)) as server:
        statuses, after = with_server(server, work)
    assert statuses == [200, 400]
    assert after['treadle_turns_started_total{assistant="rivers"}'] == 2
    assert after['treadle_turns_under_way{assistant="rivers"}'] == 0
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="waiting"}'] == 1
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="failed"}'] == 1
    assert after["treadle_model_requests_total"] == 1


def test_turns_on_an_assistants_own_routes_are_counted_like_any_other(tmp_path):
    used = Usage(requests=1, input_tokens=10, output_tokens=2)
    replies = [replace(calls(("depth", {"river": "Elbe"})), usage=used), replace(ScriptedReply("Four."), usage=used)]

    def routes(host):
        @post("/api/rivers/asked")
        async def asked(body: Question) -> str:
            """Ask about rivers."""
            session = AssistantSession(rivers(), host)
            return (await session.run(body.question, run_id=body.run_id or None)).result.run_id

        return routes_of(asked)

    async def work(ask):
        _, run_id = await ask("POST", "/api/rivers/asked", {"question": "How deep?"})
        await ask("POST", "/api/rivers/asked", {"question": "And now?", "run_id": run_id})
        failed = await ask("POST", "/api/rivers/asked", {"question": "And then?", "run_id": run_id})
        return failed[0], await figures(ask)

    model = Scripted(*replies, replace(ScriptedReply("Five."), usage=used), ModelRefused("No.", status=400))
    with Serving(tmp_path, [rivers(routes=routes)], model) as server:
        _, after = with_server(server, work)
    assert after['treadle_turns_started_total{assistant="rivers"}'] == 3
    assert after['treadle_turns_under_way{assistant="rivers"}'] == 0
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="answered"}'] == 2
    assert after['treadle_turns_ended_total{assistant="rivers",stopped="failed"}'] == 1
    assert after['treadle_calls_total{effect="read",problem="none"}'] == 1
    assert after["treadle_model_requests_total"] == 3
    assert after['treadle_tokens_total{kind="input"}'] == 30


def test_they_are_for_those_who_see_to_the_server(tmp_path):
    def around(app):
        async def known(scope, receive, send):
            await app(scope, receive, send)

        app.user_middleware.append(_as(User("ada", "user")))
        return known

    async def work(ask):
        async with ask._session.get(f"{ask.url}/metrics") as answer:
            return answer.status, await answer.text()

    with Serving(tmp_path, around=around) as server:
        status, said = with_server(server, work)
    assert (status, "These figures are for admins." in said) == (403, True)


def _as(person):
    from starlette.middleware import Middleware

    from treadle.server.app import UserMiddleware

    return Middleware(UserMiddleware, person=person)


def test_labels_are_written_so_that_they_can_be_read():
    odd = Metric("odd", "gauge", "Odd.", {(("name", 'a"b\\c\nd'),): 1})
    assert format_prometheus([odd]) == '# HELP odd Odd.\n# TYPE odd gauge\nodd{name="a\\"b\\\\c\\nd"} 1\n'


def test_what_servers_and_workers_share_is_counted_in_the_database(tmp_path):
    home = open_home(tmp_path / "data")
    asyncio.run(fill(home))
    close_home(home)
    with Serving(tmp_path) as server:
        found = with_server(server, figures)
    assert found['treadle_queue_ready{queue="gpu"}'] == 1
    assert found['treadle_queue_oldest_seconds{queue="gpu"}'] >= 0
    assert (found['treadle_dead_letters{queue="mail"}'], found['treadle_queue_sent{queue="mail"}']) == (1, 0)
    assert (found['treadle_workers{state="live"}'], found['treadle_leases{state="held"}']) == (1, 0)
    assert found["treadle_database_up"] == 1


def test_metrics_say_that_the_database_is_away(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "treadle.db").write_bytes(b"this is no database" * 100)
    with Serving(tmp_path) as server:
        found = with_server(server, figures)
    assert found["treadle_database_up"] == 0
    assert "treadle_runs_waiting" not in found
    assert not [name for name in found if name.startswith("treadle_queue")]


def test_the_duration_of_requests_is_a_histogram_by_model():
    counted = Histogram()
    for model, seconds in (("a", 0.2), ("a", 3.0), ("b", 1000.0)):
        counted.observe(model, seconds)
    found = read(format_prometheus([counted.to_metric("s", "Seconds.")]))
    assert [found[f's_bucket{{model="a",le="{le}"}}'] for le in ("0.1", "0.25", "5.0", "+Inf")] == [0, 1, 2, 2]
    assert [found[f's_bucket{{model="b",le="{le}"}}'] for le in ("320.0", "+Inf")] == [0, 1]
    assert (found['s_sum{model="a"}'], found['s_count{model="a"}']) == (3.2, 2)


def test_requests_of_runs_at_the_same_time_are_timed_each_and_costs_are_added():
    metrics = ServerMetrics()
    watch = metrics.watch("r", Usage(cost=0.5), dict)
    for event in (
        ModelAsked(run_id="r", model="a", round=1),
        ModelAsked(run_id="nested", model="b", round=1),
        ReplyArrived(run_id="nested", usage=Usage(requests=1)),
        ReplyArrived(run_id="r", usage=Usage(requests=1, cost=0.75)),
    ):
        watch(event)
    found = read(format_prometheus(asyncio.run(collect_metrics(metrics))))
    assert (found['treadle_model_request_seconds_count{model="a"}'], found['treadle_model_request_seconds_count{model="b"}']) == (
        1,
        1,
    )
    assert found["treadle_cost_dollars_total"] == 0.25


def test_a_worker_serves_its_metrics_and_nothing_else():
    async def story():
        async with (
            serve_metrics(ServerMetrics(), *parse_metrics_address("0")) as (host, port),
            aiohttp.ClientSession(f"http://{host}:{port}") as session,
            session.get("/metrics") as there,
            session.get("/") as nothing,
        ):
            return there.status, there.headers["content-type"], read(await there.text()), nothing.status

    status, kind, found, other = asyncio.run(story())
    assert (status, kind, other) == (200, "text/plain; version=0.0.4; charset=utf-8", 404)
    assert found["treadle_database_up"] == 1
    assert [parse_metrics_address(each) for each in ("9464", "0.0.0.0:80", "[::1]:1")] == [
        ("127.0.0.1", 9464),
        ("0.0.0.0", 80),
        ("::1", 1),
    ]
    for wrong in ("here", "1:2:x", "99999"):
        with pytest.raises(SettingsError, match="is no address for metrics"):
            parse_metrics_address(wrong)


def test_a_port_that_is_taken_is_said():
    async def story():
        async with serve_metrics(ServerMetrics(), "127.0.0.1", 0) as place, serve_metrics(ServerMetrics(), *place):
            raise AssertionError

    with pytest.raises(SettingsError, match="Metrics can't be served at"):
        asyncio.run(story())
