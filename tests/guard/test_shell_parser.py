"""Which commands a shell line runs. What real shells run is compared with what was found."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treadle.guard.shell_parser import MAX_LENGTH, UnclearCommand, check_commands, parse_commands


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("", []),
        ("ls -la src", ["ls"]),
        ("a; b && c || d | e & f\ng |& h", list("abcdefgh")),
        ("a $(b $(c)) `d \\`e\\``", ["c", "b", "e", "d", "a"]),
        ("diff <(a) >(b)", ["a", "b", "diff"]),
        ('echo "x $(a) `b`"', ["a", "b", "echo"]),
        ("echo '$(a)' \"\\$(b)\" \\; rm", ["echo"]),
        ("(a; b) | { c; d; }", list("abcd")),
        ("! a", ["a"]),
        ("if a; then b; else c; fi", list("abc")),
        ("while a; do b; done; for x in $(c) 1; do d; done", list("abcd")),
        ("X=1 Y=$(a) b c", ["a", "b"]),
        ("X=1", []),
        ("env X=1 Y=2 a", ["env", "a"]),
        ("env -i -u HOME a; env", ["env", "a", "env"]),
        ("sudo -u me -nE a", ["sudo", "a"]),
        ("time nohup nice -n 5 timeout -s KILL 5 a b", ["time", "nohup", "nice", "timeout", "a"]),
        ("a | xargs -0 -I{} -n 1 b {}; a | xargs -- c; xargs", ["a", "xargs", "b", "a", "xargs", "c", "xargs"]),
        ("find . -name '*.py' -exec a {} \\; -execdir b {} + -delete", ["find", "a", "b"]),
        ("sh -c 'a; bash -ec \"b | c\"' x", ["sh", "a", "bash", "b", "c"]),
        ("bash script.sh", ["bash"]),
        ("eval a \\; b; trap 'c' EXIT", ["eval", "a", "b", "trap", "c"]),
        ("command exec -a x a", ["command", "exec", "a"]),
        ("a > out 2>&1 < in >> more; > b; c &> d; e 2>/dev/null", ["a", "c", "e"]),
        ("a 2 > b", ["a"]),
        ("cat <<< $(a)", ["a", "cat"]),
        ("cat <<'E' > f; a\n$(b); c\nE\nd", ["cat", "a", "d"]),
        ("cat <<-E\n\tx $(a) \\$(b) `c`\n\tE\nd", ["cat", "a", "c", "d"]),
        ("a # ; b\nc", ["a", "c"]),
        ("a#b", ["a#b"]),
        ("/bin/rm x; ./rm y; /usr/bin/env z", ["rm", "./rm", "env", "z"]),
        ("r\\m x; 'r'm y; r\"m\" z; a\\\n b; \\\n c", ["rm", "rm", "rm", "a", "c"]),
        ("[ -f x ] && [[ -f x ]]", ["[", "[["]),
        ("echo $((1 + 2)) ${x:-y} $x $? *.py {a,b} ~", ["echo"]),
        ('"for" x; "if" y', ["for", "if"]),
        ('echo "<(" ; rm x; echo ")"', ["echo", "rm", "echo"]),
        ('echo "a\\b"', ["echo"]),
    ],
)
def test_every_command_is_found(line, names):
    assert parse_commands(line) == names


@pytest.mark.parametrize(
    "line",
    [
        *("$x y", "$(echo rm) x", "r${x}m", "r?", "~/a", "{rm,x}", "''", '"$x"'),
        *("a 'b", 'a "b', "a `b", "a $(b", "(a", "a)", "a \\", "${x", "a >", "a > ; b", "a > >(b)", "$((1"),
        *("f() { rm; }", "((1))", "x=(a b)", "case a in b) c;; esac", "function f { a; }", "select x in a; do b; done"),
        *("echo $'a'", 'echo $"a"', "echo ${x@P}", "echo ${x:-$(a)}", "echo $((x))", "echo $[1]"),
        *("PATH=. ls", "LD_PRELOAD=x ls", "env PATH=. ls", "IFS=x", "alias ls=rm"),
        *("env -S 'rm x'", "sudo -i", "xargs --arg-file=x rm", "timeout -$x 1 a", "nice - a", "nice -10 a"),
        *(
            "bash",
            "sh -s",
            "echo rm | sh",
            "bash -c $x",
            "bash $x",
            "bash --rcfile x",
            "bash -o posix -c a",
            "eval $x",
            'trap "$x" EXIT',
        ),
        *("find . $x rm", "find . -exec $x \\;", "busybox rm", "ssh host rm", "watch rm", "su -c rm"),
        *(
            "cat <<E\nx",
            "cat <<E",
            "cat <<$x\nE\n",
            "cat << ''\n\n",
            "cat <<E $(a\nb)\nE\n",
            "cat <<E `a\nb`\nE\n",
            "cat <<E 'a\nE\n'\nE\n",
        ),
        *('echo "`echo \\"a\\"`"', "a\0b", "$(" * 30 + ")" * 30, "a" * (MAX_LENGTH + 1)),
    ],
)
def test_what_is_not_certain_counts_as_not_allowed(line):
    with pytest.raises(UnclearCommand):
        parse_commands(line)
    assert check_commands(line, None).startswith("The line isn't allowed: ")


def test_a_verdict_names_the_command():
    assert check_commands("ls | grep x", {"ls", "grep"}) == ""
    assert check_commands("ls | grep x", {"ls"}) == "The command grep isn't among the allowed ones."
    assert check_commands("cat x; rm y", None, {"rm"}) == "The command rm is forbidden."
    assert check_commands("cat x; ./bin/rm y", None, {"rm"}) == "The command ./bin/rm is forbidden."
    assert check_commands("cat x", None, {"rm"}) == ""
    assert check_commands("ls", ()) == "The command ls isn't among the allowed ones."
    assert check_commands("./ls", {"ls"}) == "The command ./ls isn't among the allowed ones."


PIECES = st.sampled_from(
    [
        "p1",
        "p2",
        " ",
        " ",
        ";",
        "|",
        "&&",
        "\n",
        "$(",
        ")",
        "(",
        "`",
        "'",
        '"',
        "\\",
        "<(",
        ">",
        "<<E",
        "\nE\n",
        "#",
        "{ ",
        "; }",
        "$((",
        "))",
        "a",
    ]
)


@examples(150)
@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from(["/bin/sh", "/bin/bash"]))
def test_no_command_runs_that_was_not_found(line, shell):
    """Two commands tell by a file descriptor that they ran."""
    try:
        found = parse_commands(line)
    except UnclearCommand:
        return
    told = "p1() { echo p1 >&9; }; p2() { echo p2 >&9; }\n"
    script = f"cd / ; exec 9>&1 >/dev/null 2>&1\nPATH=\n{told}{line}\n"
    try:
        ran = subprocess.run(
            [shell, "-r" if shell.endswith("bash") else "-f", "-c", script], input="", capture_output=True, text=True, timeout=120
        )
    except FileNotFoundError:
        return
    assert {*ran.stdout.split()} <= {*found}
