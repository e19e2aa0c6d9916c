"""Commands that aren't even tried."""

import pytest

from treadle.toolsets.shell import explain_command_refusal


@pytest.mark.parametrize(
    ("line", "name", "instead"),
    [
        ("sudo apt install x", "sudo", "without it"),
        ("cd src && su root", "su", "without it"),
        ("ssh host ls", "ssh", "no network"),
        ("FOO=1 /usr/bin/scp a b:", "scp", "no network"),
        ("git diff | vim -", "vim", "tools that read and edit files"),
        ("systemctl restart x", "systemctl", "only the workspace can"),
        ("case $x in a) ls;; esac; sudo ls", "sudo", "without it"),
        ("echo $(sudo id)", "sudo", "without it"),
    ],
)
def test_a_command_that_makes_no_sense_is_named_with_what_to_do_instead(line, name, instead):
    said = explain_command_refusal(line, None)
    assert f"The command {name} makes no sense here." in said
    assert instead in said


@pytest.mark.parametrize(
    "line",
    [
        "make test",
        "for f in *.py; do echo ${f%.py}; done",
        "f() { ls; }; f",
        "case $1 in a) echo a;; esac",
        "echo 'sudo is not here'",
        "grep -rn ssh src",
        "diff <(sort a) <(sort b)",
        "echo $'a\\tb'",
    ],
)
def test_without_a_list_of_allowed_commands_the_sandbox_decides(line):
    assert explain_command_refusal(line, None) == ""


def test_what_a_person_forbids_is_refused():
    assert "The command curl is forbidden here" in explain_command_refusal("ls; curl x", None, {"curl"})
    assert "The command /usr/bin/curl is forbidden" not in explain_command_refusal("/usr/bin/curl x", None, {"wget"})


def test_only_allowed_commands_run_where_there_is_a_list():
    assert explain_command_refusal("ls -l | wc -l", {"ls", "wc"}) == ""
    said = explain_command_refusal("ls; rm -r x", {"ls", "wc"})
    assert said.startswith("The command rm isn't among the allowed ones.")
    assert "Allowed are: ls, wc." in said


def test_with_a_list_what_cannot_be_judged_is_refused():
    assert "can't be judged" in explain_command_refusal("$tool x", {"ls"})


def test_a_person_may_allow_what_makes_no_sense_to_us_but_not_what_they_forbid():
    assert explain_command_refusal("vim -es x", {"vim"}) == ""
    assert "forbidden" in explain_command_refusal("vim x", {"vim"}, {"vim"})


def test_with_a_network_only_what_a_proxy_passes_on_may_be_tried():
    assert explain_command_refusal("curl https://example.org", None, network=True) == ""
    assert "Only HTTP and HTTPS reach the network" in explain_command_refusal("scp a b:", None, network=True)
