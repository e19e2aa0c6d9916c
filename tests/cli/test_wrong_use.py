"""Misspelt commands, options, actions and values: the likely one is suggested, with the usage of the command that was typed."""

import pytest

from cli.running import treadle_here as treadle

MISSPELT = {
    ("raed", "x.py"): ("", "treadle: There is no command 'raed'. Did you mean read or triage? `treadle --help` lists them."),
    ("zzz",): ("", "treadle: There is no command 'zzz'. `treadle --help` lists them."),
    ("ask", "--modle", "x"): ("treadle ask", "there is no option --modle. Did you mean --model?"),
    ("ask", "--mod", "x", "y"): ("treadle ask", "there is no option --mod. Did you mean --model?"),
    ("ask", "--qqq"): ("treadle ask", "there is no option --qqq."),
    ("models", "pul"): ("treadle models", "there is no action 'pul'. Did you mean pull?"),
    ("models", "pull", "x", "--quite"): ("treadle models pull", "there is no option --quite. Did you mean --quiet?"),
    ("runs", "--status", "wating"): ("treadle runs", "argument --status: 'wating' isn't one of the choices. Did you mean waiting?"),
    ("jobs", "wach", "x"): ("treadle jobs", "there is no action 'wach'. Did you mean watch?"),
    ("stats", "--by", "zzz"): (
        "treadle stats",
        "argument --by: 'zzz' isn't one of the choices. There are: tool, assistant, model, user, day.",
    ),
    ("approve", "", ""): ("treadle approve", "argument RUN: it is empty. Name a run, or leave it out."),
    ("approve", "a", ""): ("treadle approve", "argument CALL: it is empty. Name a call, or leave it out."),
    ("jobs", "resume", ""): ("treadle jobs resume", "argument JOB: it is empty. Name a job, or leave it out."),
    ("undo", ""): ("treadle undo", "argument JOB: it is empty. Name a job, or leave it out."),
    ("guide", "show", ""): ("treadle guide show", "argument PROJECT: it is empty. Name a project, or leave it out."),
    ("show", "a", "b", "c"): ("treadle show", "unexpected arguments: b c"),
    ("completion", "fsh"): ("treadle completion", "'fsh' isn't one of the choices. Did you mean fish or zsh?"),
    ("courses", "lisst"): ("treadle courses", "there is no action 'lisst'. Did you mean list?"),
    ("read", "x.py", "--no-modell"): ("treadle read", "there is no option --no-modell. Did you mean --no-model or --model?"),
}


@pytest.mark.parametrize("words", MISSPELT, ids=" ".join)
def test_what_was_meant_is_suggested(home, words):
    command, says = MISSPELT[words]
    ran = treadle(home, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].endswith(says)
    assert not command or ran.err.startswith(f"usage: {command} ")


NO_KIND = "treadle: No kind of model is called 'opnai'. Did you mean openai:gpt-5?"
NO_ASSISTANT = "treadle: There is no assistant 'corses'. Did you mean courses?"
NO_FILE = "treadle: There is no file nofile.py."
EARLY = {  # no model is set up: one that would have to be fetched is offered after these
    ("build", "x", "--dialect", "bsh"): "treadle: There is no dialect 'bsh'. Did you mean bash?",
    ("debug", "x", "--dialect", "heldd", "--detach"): "treadle: There is no dialect 'heldd'. Did you mean held?",
    ("submit", "-a", "coding", "x", "-m", "opnai:gpt-5"): NO_KIND,
    ("serve", "--port", "0", "-m", "opnai:gpt-5"): NO_KIND,
    ("acp", "-m", "opnai:gpt-5"): NO_KIND,
    ("acp", "--dialect", "nativ"): "treadle: There is no dialect 'nativ'. Did you mean native?",
    ("ask", "x", "-m", "openai:gpt-5", "-m", "opnai:gpt-5"): NO_KIND,
    ("ask", "-a", "corses", "x"): NO_ASSISTANT,
    ("chat", "-a", "corses"): NO_ASSISTANT,
    ("submit", "-a", "corses", "x"): NO_ASSISTANT,
    ("ask", "--tools", "nofile.py", "x"): NO_FILE,
    ("ask", "--tools", "nofile.py:stock", "x"): NO_FILE,
}


@pytest.mark.parametrize("words", EARLY, ids=" ".join)
def test_a_name_of_something_that_does_not_exist_is_refused_before_anything_begins(home, words):
    ran = treadle(home, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(EARLY[words])
    assert not (home / "data").exists()


@pytest.mark.parametrize("words", [("ask", "x"), ("chat",)], ids=" ".join)
def test_a_misspelt_setting_of_a_project_is_reported_before_a_missing_model(home, tmp_path, words):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "treadle.toml").write_text('[modle]\nname = "ollama:qwen3"\n')
    ran = treadle(home, *words, cwd=tmp_path / "project")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("treadle: modle in ")
    assert "Did you mean model?" in ran.err


@pytest.mark.parametrize(
    "words", [("diff",), ("undo",), ("guide", "demo"), ("courses", "list"), ("platform", "validate")], ids=" ".join
)
def test_help_has_no_options_that_do_not_apply(home, words):
    text = treadle(home, "help", *words).out
    assert "--user" in text
    for option in ("--model", "--base-url", "--dialect", "--yes"):
        assert option not in text


def test_what_needs_an_approval_and_no_model_has_the_option_for_it(home):
    text = treadle(home, "help", "platform", "deploy").out
    assert "--yes" in text
    assert "--model" not in text
