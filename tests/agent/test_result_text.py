"""What tools found out is read from the data of their results, never from the text that our own code wrote."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "result_text.py"
LOOP = "for result in results:\n    if result.content.startswith('Passed'): pass"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("result_text", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def found(check, tmp_path):
    """What is found in these lines of a module."""

    def look(lines, folder="assistants/new"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "module.py").write_text(f"{lines}\n")
        return [each for each in check.findings(tmp_path) if "module.py" in each]

    return look


def test_nobody_reads_facts_out_of_the_text_of_results(check):
    assert check.findings() == []


@pytest.mark.parametrize(
    "lines",
    [
        "result.content.startswith('No course found')",
        "result.content.partition(': ')",
        "record.result.content.split('\\n\\n')",
        "_EXIT.match(result.content)",
        "re.findall(r'Lesson (.+)', last.content)",
        "msgspec.json.decode(result.content)",
        "'no such lesson' in result.content",
        "'x' not in entry['result']['content']",
        "entry['result'].get('content', '').startswith('x')",
        "(result.content or '').strip().endswith('.')",
        "said = result.content\nsaid.startswith('x')",
        "texts = [each.content for each in results]\n_A.sub('', '; '.join(texts))",
        "def passed(said):\n    return said.startswith('Passed')\npassed(tests.content)",
        "def a(said):\n    return b(text=said)\ndef b(text):\n    return _X.search(text)\na(f'{step.content}!')",
        LOOP,
        "_MARKS = re.compile('</?untrusted-[0-9a-f]+>')",
    ],
)
@pytest.mark.parametrize("folder", ["assistants/new", "server", "cli", "app"])
def test_reading_the_text_of_a_result_is_found(found, lines, folder):
    (line,) = found(lines, folder)
    assert line.endswith("read the data of the result")


@pytest.mark.parametrize(
    "lines",
    [
        "show(result.content)",
        "result.content[:200]",
        "len(result.content)",
        "' '.join(result.content.split())",
        "result.content.strip().splitlines()",
        "result.data['state'] == 'passed'",
        "_NUMBER.search(message)",
        "spec_in(result.text)",
        "'content' in result",
        "def read(said):\n    return _X.search(said)\nread(message.text)",
    ],
)
def test_showing_it_and_reading_anything_else_is_fine(found, lines):
    assert found(lines) == []


def test_a_reason_for_nothing_is_found(check, tmp_path):
    assert "cli/ui/render.py: nothing is read there; take it out of MAY" in check.findings(tmp_path)
