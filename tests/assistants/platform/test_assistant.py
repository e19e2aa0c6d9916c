"""The platform assistant is a plug-in like anyone's."""

from treadle.assistants.platform import assistant
from treadle.testing import check_assistant, throwaway_host


def test_it_keeps_the_contract(monkeypatch, tmp_path):
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    check_assistant(assistant)


def test_it_offers_the_thirteen_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    with throwaway_host() as host:
        (toolset,) = assistant.toolsets(host)
    effects = {tool.name: tool.effect for tool in toolset.tools()}
    assert {name for name, effect in effects.items() if effect == "read"} == {
        "list_applications",
        "get_application",
        "list_workflows",
        "get_workflow",
        "list_resources",
        "get_dashboard_stats",
        "list_golden_paths",
        "list_providers",
        "get_current_user",
    }
    assert {name: effect for name, effect in effects.items() if effect != "read"} == {
        "deploy_application": "write",
        "delete_application": "destroy",
        "run_golden_path": "write",
        "retry_workflow": "write",
    }
