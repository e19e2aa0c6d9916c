"""Whatever form a version answers in, one form comes out; and nonsense comes out as nothing."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.platform import responses

GO = {
    "metadata": {"Name": "a"},
    "containers": {"web": {"Image": "nginx:1", "Variables": {"A": "b"}}},
    "resources": None,
    "team": "shop",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["data", "total", "resources", "name", "steps", "metadata", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


def test_applications_are_an_object_by_name_or_a_list():
    expected = [{"name": "a", "resource_count": 0, "team": "shop", "containers": ["web: nginx:1"]}]
    assert responses.parse_applications({"a": GO}) == expected
    assert responses.parse_applications([GO]) == expected
    assert responses.parse_applications({"a": "?"}) == []


def test_an_application_is_its_spec_as_one_would_write_it():
    assert responses.parse_application("a", GO) == {
        "name": "a",
        "team": "shop",
        "spec": {
            "apiVersion": "score.dev/v1b1",
            "metadata": {"name": "a"},
            "containers": {"web": {"image": "nginx:1", "variables": {"A": "b"}}},
        },
    }


def test_workflows_are_a_page_or_a_bare_list():
    one = {"id": 1, "status": "failed", "failed_steps": 0, "completed_at": None, "odd": 1}
    assert responses.parse_workflows({"data": [one], "total": 7}) == ([{"id": 1, "status": "failed", "failed_steps": 0}], 7)
    assert responses.parse_workflows([one]) == ([{"id": 1, "status": "failed", "failed_steps": 0}], 1)


def test_a_long_log_keeps_its_end():
    found = responses.parse_workflow({"id": 1, "steps": [{"step_name": "s", "output_logs": "x" * 5000 + " the end"}]})
    assert found["steps"][0]["output_logs"].endswith("x the end")
    assert len(found["steps"][0]["output_logs"]) < 1100


def test_resources_are_by_application_or_in_a_list_of_their_own():
    db = {"resource_name": "db", "state": "active"}
    assert responses.parse_resources({"a": [db]}) == [{"application_name": "a", **db}]
    assert responses.parse_resources({"resources": [db]}) == [db]
    assert responses.parse_resources([db]) == [db]


def test_golden_paths_and_providers_and_figures():
    assert responses.parse_golden_paths({"deploy": {"description": "d"}}) == [{"name": "deploy", "description": "d"}]
    assert responses.parse_golden_paths([{"name": "deploy", "category": "c"}]) == [{"name": "deploy", "category": "c"}]
    assert responses.parse_providers([{"name": "p", "workflows": [{"name": "w"}]}]) == [{"name": "p", "workflows": ["w"]}]
    assert responses.parse_stats({"applications": 0, "workflows": 2, "users": 4}) == {
        "applications": 0,
        "users": 4,
        "running_workflows": 2,
    }
    assert responses.parse_user({"username": "ann", "role": "admin", "x": 1}) == {"username": "ann", "role": "admin"}


@given(JSON)
def test_nothing_that_comes_makes_them_fail(value):
    for read in (
        responses.parse_applications,
        responses.parse_workflows,
        responses.parse_workflow,
        responses.parse_resources,
        responses.parse_golden_paths,
        responses.parse_providers,
    ):
        read(value)
    responses.parse_stats(value)
    responses.parse_user(value)
    responses.parse_application("a", value)
