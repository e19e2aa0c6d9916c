"""Reports as JUnit XML and as an HTML page. The page has its styles in it, runs no script and requests nothing."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

import msgspec

from treadle.evals.results import Attempt, CaseChange, CaseResult, EvalReport

_INVALID_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report_to_junit(report: EvalReport) -> str:
    """Return a report as JUnit XML: a test case for each attempt."""
    attempts = report.attempts
    failed = sum(not attempt.passed and attempt.stopped != "failed" for attempt in attempts)
    errors = sum(not attempt.passed and attempt.stopped == "failed" for attempt in attempts)
    started = datetime.fromtimestamp(report.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    about = (
        f'name={_xml(report.dataset)} tests="{len(attempts)}" failures="{failed}" errors="{errors}" '
        f'time="{report.seconds:.3f}" timestamp="{started}"'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", f"<testsuite {about}>"]
    for case in report.cases:
        for number, attempt in enumerate(case.attempts, 1):
            name = case.name if len(case.attempts) == 1 else f"{case.name} #{number}"
            lines += _junit_case(report.dataset, name, attempt)
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def _junit_case(dataset: str, name: str, attempt: Attempt) -> Iterator[str]:
    about = f'classname={_xml(dataset)} name={_xml(name)} time="{attempt.seconds:.3f}"'
    if attempt.passed:
        yield f"<testcase {about}/>"
        return
    element = "error" if attempt.stopped == "failed" else "failure"
    details = [f"{check.kind}: {check.name}: {check.detail}" for check in attempt.failed_checks]
    yield f"<testcase {about}>"
    yield f"<{element} message={_xml(details[0] if details else attempt.reason)}>"
    yield escape(_INVALID_XML.sub("\ufffd", "\n".join([*details, f"run {attempt.run_id}"])), quote=False)
    yield f"</{element}>"
    yield "</testcase>"


def _xml(text: str) -> str:
    """Return an attribute's value, with its quotation marks."""
    cleaned = escape(_INVALID_XML.sub("\ufffd", text)).replace("\n", "&#10;")
    return f'"{cleaned}"'


_STYLE = """\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;vertical-align:top}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.passed{color:#18794e}.failed{color:#cd2b31}
@media(prefers-color-scheme:dark){.passed{color:#4cc38a}.failed{color:#ff6369}}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font-size:13px}
summary{cursor:pointer}
"""


def report_to_html(report: EvalReport, changes: Sequence[CaseChange] = ()) -> str:
    """Return a report as one HTML page."""
    changed = {change.name: change for change in changes}
    low, high = report.interval
    started = datetime.fromtimestamp(report.started_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    cost = "" if report.cost is None else f", {report.cost:.4f} US dollars"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>Evaluation of {escape(report.dataset)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
    )
    summary = (
        f"<h1>{escape(report.dataset)}</h1>\n"
        f"<p>{escape(report.model) or 'own models'}, {started}, {report.seconds:.1f} seconds{cost}. "
        f"<strong>{report.rate:.0%}</strong> of {len(report.attempts)} runs passed (95 % interval {low:.0%} to {high:.0%}).</p>\n"
    )
    columns = ("Case", "Passed", "Interval", "Seconds", "Asked", *(["Baseline"] if changes else []))
    rows = "".join([_html_row(case, changed.get(case.name), compared=bool(changes)) for case in report.cases])
    missing = "".join([f"<li>{escape(each.name)}</li>" for each in changes if each.change == "missing"])
    more = f"<h2>Cases of the baseline that weren't run</h2>\n<ul>{missing}</ul>\n" if missing else ""
    heads = "".join([f'<th scope="col">{column}</th>' for column in columns])
    return f"{head}{summary}<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{more}</body>\n</html>\n"


def _html_row(case: CaseResult, change: CaseChange | None, *, compared: bool) -> str:
    low, high = case.interval
    state = "passed" if case.rate == 1 else "failed"
    attempts = "".join([_html_attempt(attempt, number) for number, attempt in enumerate(case.attempts, 1)])
    seconds = sum(attempt.seconds for attempt in case.attempts) / len(case.attempts)
    cells = [
        f"<td><details><summary>{escape(case.name)}</summary>{attempts}</details></td>",
        f'<td class="number {state}">{case.passed} of {len(case.attempts)}</td>',
        f'<td class="number">{low:.0%}–{high:.0%}</td>',
        f'<td class="number">{seconds:.1f}</td>',
        f'<td class="number">{sum(len(attempt.asked) for attempt in case.attempts)}</td>',
    ]
    if compared:
        before = "" if change is None or change.before is None else f" ({change.before:.0%})"
        cells.append(f"<td>{'' if change is None else change.change}{before}</td>")
    return f"<tr>{''.join(cells)}</tr>\n"


def _html_attempt(attempt: Attempt, number: int) -> str:
    checks = "".join(
        [
            f'<li class="{"passed" if check.passed else "failed"}">{escape(f"{check.kind}: {check.name}")}'
            f"{f'<br>{escape(check.detail)}' if check.detail else ''}</li>"
            for check in attempt.checks
        ]
    )
    calls = "\n".join([f"{call.tool} {msgspec.json.encode(call.arguments).decode()} {call.verdict}" for call in attempt.calls])
    return (
        f"<h3>Run {number}: {escape(attempt.run_id)}, {escape(attempt.stopped)}</h3><ul>{checks}</ul>"
        f"<pre>{escape(calls)}</pre><pre>{escape(attempt.output or attempt.reason)}</pre>"
    )
