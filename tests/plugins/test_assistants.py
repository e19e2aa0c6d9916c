"""Assistants are found by their entry points, told apart from what is broken, and made into agents."""

import asyncio
from argparse import ArgumentParser, Namespace

import pytest

from packages import install
from treadle import FunctionToolset, Limits, deny, tool
from treadle.assistant import Assistant, Command, assistant_agent
from treadle.core.errors import SettingsError
from treadle.models.scripted import calls
from treadle.plugins.assistants import (
    AssistantCommand,
    BrokenAssistant,
    InstalledAssistant,
    add_command_options,
    collect_commands,
    find_assistants,
    get_assistant,
    list_assistants,
)
from treadle.settings.reserved import COMMANDS
from treadle.testing import Scripted, throwaway_host

GOOD = "{0} = Assistant(name='{0}', title='{0}', summary='Is {0}.')\n"


def nothing(args, host):
    return 0


def owner(name, *names, package="a-package"):
    """An assistant with commands of these names."""
    made = Assistant(name, name, f"Is {name}.", commands=tuple([Command(each, "do it", nothing) for each in names]))
    return InstalledAssistant(made, package)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs packages for one test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda package, source, **names: install(tmp_path, package, package.replace("-", "_"), source, **names)


def test_every_package_may_offer_some_and_they_come_by_name(installed):
    installed("on-the-right", GOOD.format("zebra") + GOOD.format("bear"), zebra="zebra", bear="bear")
    installed("on-the-left", GOOD.format("newt"), newt="newt")
    assert [each.name for each in list_assistants() if each.title in ("bear", "newt", "zebra")] == ["bear", "newt", "zebra"]
    [found], broken = find_assistants("newt")
    assert (found.assistant, found.package, found.version) == (get_assistant("newt"), "on-the-left", "1.0")
    assert broken == []


@pytest.mark.parametrize(
    ("source", "value", "why"),
    [
        ("import no_such_module", "x", "can't be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "x", "can't be loaded: SystemExit: 3"),
        ("1 / 0", "x", "can't be loaded: ZeroDivisionError: division by zero"),
        ("", "missing", "can't be loaded: AttributeError"),
        ("x = {'name': 'odd'}", "x", "is no `treadle.assistant.Assistant`, but of type dict"),
        (GOOD.format("even"), "even", "it calls itself 'even'; the name in the package's entry point has to be the same"),
    ],
)
def test_one_that_is_broken_is_told_of_and_breaks_no_other(installed, request, source, value, why):
    package = f"broken-{request.node.callspec.indices['source']}"
    installed(package, source, odd=value)
    installed(f"{package}-beside", GOOD.format("good"), good="good")
    found, broken = find_assistants()
    assert "good" in [each.assistant.name for each in found]
    [one] = [each for each in broken if each.package == package]
    assert why in one.why
    with pytest.raises(SettingsError, match=f"The assistant odd of the package {package} can't be used: "):
        get_assistant("odd")


def test_a_name_that_is_no_word_is_no_name(installed):
    installed("spacious", "x = Assistant(name='Two Words', title='t', summary='S.')", **{"Two Words": "x"})
    [one] = [each for each in find_assistants()[1] if each.package == "spacious"]
    assert "one word" in one.why


def test_of_two_by_one_name_the_first_package_is_the_one_and_the_other_is_told_of(installed):
    installed("b-package", GOOD.format("twin"), twin="twin")
    installed("a-package", GOOD.format("twin"), twin="twin")
    [found], [second] = find_assistants("twin")
    assert found.package == "a-package"
    assert second == BrokenAssistant("twin", "b-package", "the package a-package has one of that name.")
    assert str(second) == "The assistant twin of the package b-package can't be used: the package a-package has one of that name."


def test_a_misspelt_name_is_answered_with_the_nearest(installed):
    installed("well-known", GOOD.format("almanac"), almanac="almanac")
    with pytest.raises(SettingsError, match=r"There is no assistant 'almnac'\. Did you mean almanac\? There are: .*almanac"):
        get_assistant("almnac")
    with pytest.raises(SettingsError, match=r"There is no assistant 'qqqqqq'\. There are: "):
        get_assistant("qqqqqq")


@tool(effect="read")
def look(thing: str) -> str:
    """Look at a thing."""
    return f"a look at {thing}"


@tool(effect="read")
def smell(thing: str) -> str:
    """Smell a thing."""
    return f"a smell of {thing}"


def test_an_agent_of_it_has_its_name_instructions_tools_policy_and_limits():
    seen = []
    made = Assistant(
        "nosy",
        "Nosy",
        "Looks at things.",
        instructions="Look.",
        toolsets=lambda host: [seen.append(host.user), FunctionToolset([look])][1:],
        policy=[deny("look", where={"thing": "secret"}, reason="That is none of your business.")],
        limits=Limits(rounds=2, at_limit="words", words="Enough."),
    )
    model = Scripted(calls(("look", {"thing": "secret"})), calls(("look", {"thing": "tree"})), "never said")
    with throwaway_host(user="ann") as host:
        agent = assistant_agent(made, host, model)
        result = asyncio.run(agent.run("Well?"))
    assert (agent.name, model.requests[0].instructions, seen) == ("nosy", "Look.", ["ann"])
    assert [call.result.content for call in result.calls if call.result][1] == "a look at tree"
    assert "none of your business" in result.calls[0].result.content
    assert (result.stopped, result.answer_at_limit) == ("limit", "Enough.")


def test_whoever_makes_the_agent_may_say_more_and_tools_are_added():
    made = Assistant("nosy", "Nosy", "Looks at things.", instructions="Look.", toolsets=lambda host: [FunctionToolset([look])])
    model = Scripted("Fine.")
    with throwaway_host() as host:
        agent = assistant_agent(
            made, host, model, toolsets=[FunctionToolset([smell], name="more")], instructions="Smell.", name="nose"
        )
        asyncio.run(agent.run("Well?"))
    assert agent.name == "nose"
    assert model.requests[0].instructions == "Look.\n\nSmell."
    assert [spec.name for spec in model.requests[0].tools] == ["look", "smell"]


def test_commands_of_treadle_go_first_then_those_of_its_own_assistants_then_by_name():
    ours, early, late = owner("zoo", "feed", package="treadle"), owner("ark", "feed", "sail"), owner("bay", "sail", "ask", "swim")
    offers, clashes = collect_commands([early, late, ours])
    assert {name: offer.assistant.name for name, offer in offers.items()} == {"feed": "zoo", "sail": "ark", "swim": "bay"}
    assert clashes == [
        "The command feed of the assistant ark can't be used: the assistant zoo has one of that name.",
        "The command sail of the assistant bay can't be used: the assistant ark has one of that name.",
        "The command ask of the assistant bay can't be used: Treadle itself has one of that name.",
    ]


def test_every_name_of_ours_is_refused_to_others():
    assert collect_commands([owner("greedy", *COMMANDS)])[0] == {}


def offer_of(arguments):
    command = Command("look", "look", nothing, arguments)
    return AssistantCommand(Assistant("nosy", "Nosy", "Looks.", commands=(command,)), command)


def test_a_command_has_its_own_options_and_those_that_all_have():
    parser = ArgumentParser()
    add_command_options(parser, offer_of(lambda parser: parser.add_argument("--far", action="store_true")))
    typed = ["--far", "-m", "a:b", "--base-url", "http://x", "--dialect", "bash", "--user", "ann", "--yes", "-q", "-v"]
    model = {"model": "a:b", "base_url": "http://x", "dialect": "bash"}
    assert parser.parse_args(typed) == Namespace(far=True, **model, user="ann", yes=True, quiet=True, verbose=True)


def test_options_that_clash_are_told_in_a_sentence():
    with pytest.raises(SettingsError, match=r"The command look of the assistant nosy can't be used: .* -m/--model"):
        add_command_options(ArgumentParser(), offer_of(lambda parser: parser.add_argument("-m")))
