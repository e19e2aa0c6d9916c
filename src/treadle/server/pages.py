"""The pages that the server writes itself: the list of assistants, figures, and what went wrong.

Plain HTML that needs no script, but for the figures.
"""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from treadle.app.assistant import Assistant

SHELL = """\
<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <link rel="icon" href="/static/treadle.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/static/treadle.css">
{head}</head>
<body>
  <header class="bar">
    <a class="brand" href="/"><img src="/static/treadle.svg" alt="" width="28" height="28">Treadle</a>
{bar}
  </header>
  <main class="page{kind}">
{body}
  </main>
</body>
</html>
"""
TO_STATS = '    <a href="/stats">Statistics</a>'
HOME = """\
    <h1>Assistants</h1>
    <p class="lead">{lead}</p>
{cards}"""
CARD = """\
    <section class="card" id="{name}">
      <h2>{title}</h2>
      <p>{summary}</p>
{questions}{link}    </section>
"""
QUESTIONS = """\
      <h3>Ask, for example</h3>
      <ul class="questions">
{items}
      </ul>
"""
LINK = """\
      <p class="actions"><a class="button" href="{path}">Open<span class="unseen"> {title}</span></a></p>
"""
ERROR = """\
    <p class="code">{status}</p>
    <h1>{sentence}</h1>
    <p><a href="/">All assistants</a></p>"""
STATS_HEAD = """\
  <link rel="stylesheet" href="/static/stats.css">
  <script type="module" src="/static/stats.js"></script>
"""
STATS_BAR = '    <span class="here">Statistics</span>'
STATS = """\
    <h1>Statistics</h1>
    <p class="lead">Which tools are called, how often they fail, how long they take and what they cost.</p>
    <form class="picking" id="picking" aria-label="What is counted">
      <div class="field"><label for="since">Time</label><select id="since" name="since">
        <option value="7d">7 days</option><option value="30d" selected>30 days</option><option value="90d">90 days</option>
        <option value="">all time</option>
      </select></div>
      <div class="field"><label for="assistant">Assistant</label><select id="assistant" name="assistant">
        <option value="">all</option></select></div>
      <div class="field"><label for="model">Model</label><select id="model" name="model">
        <option value="">all</option></select></div>
      <div class="field"><label for="user">User</label><select id="user" name="user">
        <option value="">all</option></select></div>
      <div class="field"><label for="tool">Tools</label><input id="tool" name="tool" placeholder="all, or read_*" autocomplete="off"
        spellcheck="false"></div>
    </form>
    <p id="said" role="status" class="busy">Counting…</p>
    <noscript><p class="notice warn">This needs a script; <code>treadle stats</code> shows the same in a terminal.</p></noscript>
    <div id="figures" class="figures" hidden></div>"""


def home_page(assistants: Sequence[Assistant]) -> str:
    """The page at `/`."""
    lead = "Language models with tools, ready to be asked." if assistants else "None is installed here yet."
    body = HOME.format(lead=lead, cards="".join([_card(assistant) for assistant in assistants]))
    return _page("Treadle", body)


def _page(title: str, body: str, *, head: str = "", bar: str = TO_STATS, kind: str = "") -> str:
    return SHELL.format(title=title, body=body, head=head, bar=bar, kind=kind)


def stats_page() -> str:
    """The page at `/stats`; its script fills it in."""
    return _page("Statistics · Treadle", STATS, head=STATS_HEAD, bar=STATS_BAR, kind=" wide")


def _card(assistant: Assistant) -> str:
    path, title = panel_path(assistant), escape(assistant.title)
    return CARD.format(
        name=escape(assistant.name),
        title=f'<a href="{escape(path)}">{title}</a>' if path else title,
        summary=escape(assistant.summary),
        questions=_questions(assistant.questions, path),
        link=LINK.format(path=escape(path), title=title) if path else "",
    )


def _questions(questions: Sequence[str], path: str | None) -> str:
    """Sample questions; where there is a panel they lead to it, which finds the question in its address."""
    if not questions:
        return ""
    links = [_question(question, path) for question in questions]
    return QUESTIONS.format(items="\n".join([f"        <li>{link}</li>" for link in links]))


def _question(question: str, path: str | None) -> str:
    return f'<a href="{escape(path)}?{urlencode({"question": question})}">{escape(question)}</a>' if path else escape(question)


def panel_path(assistant: Assistant) -> str | None:
    """Where an assistant's panel is served; None where it has none."""
    return f"/{assistant.name}/" if assistant.panel else None


def error_page(status: int, sentence: str) -> str:
    """A page that says what went wrong."""
    return _page(f"{status} · Treadle", ERROR.format(status=status, sentence=escape(sentence)))
