"""Markdown in a real browser: every text becomes the right elements, none becomes HTML, and a text that grows is drawn cheaply."""

import asyncio
import json
import re

import pytest

from browser import Browser, needs_browser
from server.running import Serving

pytestmark = needs_browser

MADE = """import('/static/markdown.js').then(({{ markdown }}) => {{
    const made = document.createElement('div');
    made.append(...markdown({}));
    return made.innerHTML;
}})"""
LINK = '<a href="{}" rel="noopener noreferrer" target="_blank">{}</a>'


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Evaluates a script in a page of the server's."""
    with asyncio.Runner() as runner, Serving(tmp_path_factory.mktemp("home")) as server:
        browser = runner.run(Browser().__aenter__())
        opened = runner.run(browser.open(server.url))
        yield lambda script: runner.run(opened.evaluate(script))
        opened.check()
        runner.run(browser.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def made(page):
    """The HTML of what becomes of a text."""
    return lambda text: re.sub(
        r">\n+(?=<|$)|\n+(?=</?(?:li|ul|ol|blockquote)\b)", lambda found: found[0].strip(), page(MADE.format(json.dumps(text)))
    )


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("one  \ntwo\\\nthree", "<p>one<br>\ntwo<br>\nthree</p>"),
        ("# One #\n###### Six\n#none", "<h3>One</h3><h6>Six</h6><p>#none</p>"),
        ("#", "<h3></h3>"),
        ("a\n***\n- - -\nb", "<p>a</p><hr><hr><p>b</p>"),
        ("> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"),
        ("- a\n- b\n\n* c", "<ul><li>a</li><li>b</li></ul><ul><li>c</li></ul>"),
        ("1. a\n2. b\n", "<ol><li>a</li><li>b</li></ol>"),
        ("3) a\n4) b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("1. a\n   - b\n     - c\n2. d", "<ol><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ol>"),
        ("- a\n  more\nlazy\n- b", "<ul><li>a\nmore\nlazy</li><li>b</li></ul>"),
        ("- a\n  ```sh\n  ls\n  ```\nb", '<ul><li>a<pre data-language="sh"><code>ls</code></pre></li></ul><p>b</p>'),
        ("-\n- a", "<ul><li></li><li>a</li></ul>"),
        ("Tools:\n- a\n- b", "<p>Tools:</p><ul><li>a</li><li>b</li></ul>"),
        ("```python title\na <b>\n\n  c\n```\nd", '<pre data-language="python"><code>a &lt;b&gt;\n\n  c</code></pre><p>d</p>'),
        ("~~~~\n```\n~~~\n~~~~", "<pre><code>```\n~~~</code></pre>"),
        ("```yaml\na: 1\n", '<pre data-language="yaml" data-open=""><code>a: 1</code></pre>'),
        ("a\r\nb\rc", "<p>a\nb\nc</p>"),
        ("", ""),
        ("  \n\n ", ""),
    ],
)
def test_blocks(made, text, html):
    assert made(text) == html


def test_tables(made):
    text = "| a | b | c |\n|---|:-:|--:|\n| 1 \\| 2 | `x` |\n| 3 | 4 | 5 | 6 |\nafter"
    heads = '<thead><tr><th>a</th><th data-align="center">b</th><th data-align="right">c</th></tr></thead>'
    one = '<tr><td>1 | 2</td><td data-align="center"><code>x</code></td><td data-align="right"></td></tr>'
    two = '<tr><td>3</td><td data-align="center">4</td><td data-align="right">5</td></tr>'
    three = '<tr><td>after</td><td data-align="center"></td><td data-align="right"></td></tr>'
    assert made(text) == f'<div class="table" tabindex="0"><table>{heads}<tbody>{one}{two}{three}</tbody></table></div>'
    assert made("a | b\n---") == "<h4>a | b</h4>"
    assert made("words\na | b\n--|--\n\nc").startswith('<p>words</p><div class="table" tabindex="0">')


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* _b_ **c** __d__ ~~e~~", "<em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <s>e</s>"),
        ("***a*** **b *c***", "<em><strong>a</strong></em> <strong>b <em>c</em></strong>"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("**open *and **", "**open *and **"),
        ("*a _b* c_", "<em>a _b</em> c_"),
        ("a ~ b ~~ c ~d~", "a ~ b ~~ c ~d~"),
        ("Bäume**fett**ä *x*.", "Bäume<strong>fett</strong>ä <em>x</em>."),
        (r"\*a\* \\ \a", r"*a* \ \a"),
        ("`*a*` `` b`c `` ` d ` `e", "<code>*a*</code> <code>b`c</code> <code>d</code> `e"),
        ("`a\nb`", "<code>a b</code>"),
    ],
)
def test_what_stands_within_a_line(made, text, html):
    assert made(text) == f"<p>{html}</p>"


FORMULAS = """import('/static/markdown.js').then(async ({{ markdown }}) => {{
    const made = document.createElement('div');
    made.append(...markdown({}));
    const found = [...made.querySelectorAll('.math')].map(each => [each.textContent, each.classList.contains('display')]);
    if (found.length) await import('/static/katex/katex.min.js');
    await new Promise(resolve => setTimeout(resolve));
    const tex = [...made.querySelectorAll('math annotation')].map(each => each.textContent);
    return [found, tex, made.querySelectorAll('[style]').length];
}})"""


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5, or $6 with $1 for the bag.",
        "Between $5 and 10$ a kilo, US$3 and A$4.",
        "Export $HOME/bin:$PATH and $PWD.",
        "kill $$ and echo $$ again",
        r"\$x\$ and \[1\] and \(see below\)",
        "`$x$` and\n```\n$$y$$\n```",
        "$ x $, a$x$b, $$, $x",
    ],
)
def test_amounts_variables_and_code_are_no_formulas(page, text):
    assert page(FORMULAS.format(json.dumps(text))) == [[], [], 0]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("Energy: $E = mc^2$, for $m$ in kg.", ["E = mc^2", "m"]),
        ("It costs $5 for $n$ of them: $5n$.", ["n", "5n"]),
        (r"So \(a_1 * b_1 * c\) and $y = \text{what it is}$.", ["a_1 * b_1 * c", r"y = \text{what it is}"]),
        ("|a|\n|-|\n|**b** $x^2$|", ["x^2"]),
    ],
)
def test_formulas_are_typeset_as_mathml_without_styles(page, text, formulas):
    found, tex, styles = page(FORMULAS.format(json.dumps(text)))
    assert (tex, [is_display for _, is_display in found], styles) == (formulas, [False] * len(formulas), 0)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("where\n$$\nx = 1\n- y\n+ 2\n$$\n- item", "x = 1\n- y\n+ 2"),
        (r"so \[x_1 = \frac{1}{2}\] too", r"x_1 = \frac{1}{2}"),
        ("1. first\n   \\[\n   a = b\n   \\]\n2. second", "a = b"),
    ],
)
def test_formulas_may_have_lines_of_their_own(page, text, formula):
    found, tex, styles = page(FORMULAS.format(json.dumps(text)))
    assert (tex, [is_display for _, is_display in found], styles) == ([formula], [True], 0)


def test_what_is_no_tex_stays_as_it_was_written(page, made):
    assert page(FORMULAS.format(json.dumps(r"$\nosuch{x}$ and $x_1$")))[1] == ["x_1"]
    assert r"$\nosuch{x}$" in made(r"$\nosuch{x}$")


def test_links_lead_only_where_they_may(made):
    for text, address, words in [
        ("[a *b*](https://docs.example/x_(1) 'T')", "https://docs.example/x_(1)", "a <em>b</em>"),
        ("[a](<http://docs.example/a b>)", "http://docs.example/a%20b", "a"),
        ("[me](mailto:a@b.example)", "mailto:a@b.example", "me"),
        ("[here](/reading/?a=1)", "/reading/?a=1", "here"),
        ("<https://docs.example/>", "https://docs.example/", "https://docs.example/"),
        ("![pic](https://docs.example/p.png)", "https://docs.example/p.png", "pic"),
        ("[](https://docs.example/)", "https://docs.example/", "https://docs.example/"),
    ]:
        assert made(text) == f"<p>{LINK.format(address, words)}</p>"
    bare = LINK.format("https://docs.example/a_b", "https://docs.example/a_b")
    assert made("See https://docs.example/a_b. Then (https://docs.example/a_b)") == f"<p>See {bare}. Then ({bare})</p>"
    for text in (
        "[a](javascript:alert%281%29)",
        "[a](data:text/html,x)",
        "[a](file:///etc/passwd)",
        "[a](http://[)",
        "[a] (b)",
        "[a",
    ):
        assert made(text) == f"<p>{text}</p>"


def test_html_is_shown_as_text(made, page):
    bad = "<img src=x onerror=window.taken=1>"
    texts = [bad, f"# {bad}", f"- {bad}", f"> {bad}", f"`{bad}`", f"```{bad}\n{bad}", f"|{bad}|\n|-|\n|{bad}|", f"**{bad}**"]
    texts += [
        f"[{bad}](https://docs.example)",
        f'[a]({bad})"',
        f'[a](https://docs.example/"onclick="{bad})',
        "<script>taken=1</script>",
    ]
    for text in texts:
        html = made(text)
        assert "<img" not in html
        assert "<script" not in html
        assert (
            page(
                f"(box => (box.innerHTML = {json.dumps(html)}, box.querySelectorAll('[onclick], [onerror], img').length))"
                "(document.createElement('template'))"
            )
            == 0
        )
    assert made("&lt;b&gt; & <b>") == "<p>&lt;b&gt; &amp; &lt;b&gt;</p>"
    assert page("window.taken") is None


ATTACKS = (
    "<script>window.taken=1</script>",
    "<img src=x onerror=window.taken=1>",
    "<svg onload=window.taken=1>",
    "<svg><script>window.taken=1</script></svg>",
    "<svg><animate onbegin=window.taken=1 attributeName=x dur=1s>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.taken=1></style></mglyph></table></mtext></math>",
    "<math><maction actiontype='statusline' xlink:href='javascript:window.taken=1'>x</maction></math>",
    "<iframe src='javascript:window.taken=1'></iframe>",
    "<iframe srcdoc='<script>parent.taken=1</script>'></iframe>",
    "<object data='javascript:window.taken=1'></object>",
    "<embed src='javascript:window.taken=1'>",
    "<body onload=window.taken=1>",
    "<details open ontoggle=window.taken=1><summary>x</summary></details>",
    "<video><source onerror=window.taken=1></video>",
    "<input autofocus onfocus=window.taken=1>",
    "<form action='javascript:window.taken=1'><button>x</button></form>",
    "<form><input name=attributes><input name=parentNode></form>",
    "<a href='javascript:window.taken=1'>x</a>",
    "<a href='jav&#x09;ascript:window.taken=1'>x</a>",
    "<base href='https://elsewhere.example/'>",
    "<meta http-equiv=refresh content='0;url=javascript:window.taken=1'>",
    "<link rel=stylesheet href='https://elsewhere.example/x.css'>",
    "<style>@import 'https://elsewhere.example/x.css';</style>",
    "<p style='background:url(https://elsewhere.example/x)'>x</p>",
    "<template><script>window.taken=1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.taken=1>'>",
    "<!--><img src=x onerror=window.taken=1>-->",
    "<![CDATA[<img src=x onerror=window.taken=1>]]>",
    "[x](javascript:window.taken=1)",
    "[x](JaVaScRiPt:window.taken=1)",
    "[x](java\nscript:window.taken=1)",
    "[x](&#106;avascript:window.taken=1)",
    "[x](javascript&colon;window.taken=1)",
    "[x](\x01javascript:window.taken=1)",
    "[x](vbscript:window.taken=1)",
    "[x](data:text/html;base64,PHNjcmlwdD5wYXJlbnQudGFrZW49MTwvc2NyaXB0Pg==)",
    "[x](blob:https://elsewhere.example/1)",
    "<javascript:window.taken=1>",
    "[x]: javascript:window.taken=1\n\n[x]",
    '[x](https://docs.example/"onmouseover="window.taken=1)',
    "[x](https://docs.example/ 'a\" onmouseover=\"window.taken=1')",
    "[<img src=x onerror=window.taken=1>](https://docs.example/)",
    "![x](javascript:window.taken=1)",
    "![x](https://elsewhere.example/pixel.png)",
    '![x" onerror="window.taken=1](x)',
    "![x](x 'y\" onerror=\"window.taken=1')",
    '```"><img src=x onerror=window.taken=1>\nx\n```',
    "```html\n<img src=x onerror=window.taken=1>\n</code></pre><script>window.taken=1</script>\n```",
    "```js\n</span><img src=x onerror=window.taken=1>\n```",
    "    </code></pre><script>window.taken=1</script>",
    "`</code><img src=x onerror=window.taken=1>`",
    "|<img src=x onerror=window.taken=1>|\n|-|\n|<script>window.taken=1</script>|",
    "- [ ] <img src=x onerror=window.taken=1>",
    r"$\href{javascript:window.taken=1}{x}$ and $\url{javascript:window.taken=1}$",
    r"$\htmlData{x=1}{y}$ and $\includegraphics{https://elsewhere.example/x.png}$",
    r"$$\text{<img src=x onerror=window.taken=1>}$$",
    "https://docs.example/<img src=x onerror=window.taken=1>",
    'https://docs.example/"onmouseover=window.taken=1',
    '<span data-formula="0" class="cite">x</span>',
    "\u202e<img src=x onerror=window.taken=1>\u0000",
)
LEFT = """(place => {{
    const all = [...place.querySelectorAll('*')], allowed = {allowed};
    const names = ['style', 'src', 'srcdoc', 'id', 'action', 'formaction'];
    return [
        all.map(each => each.localName).filter(each => !allowed.includes(each)),
        all.flatMap(each => [...each.attributes].map(({{name}}) => name))
            .filter(each => each.startsWith('on') || names.includes(each)),
        all.filter(each => each.localName === 'a' && !['http:', 'https:', 'mailto:'].includes(each.protocol)).length,
        window.taken ?? null,
        performance.getEntriesByType('resource').filter(({{name}}) => !name.startsWith(location.origin)).length,
    ];
}})({place})"""
MARKUP = "a blockquote br code div em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul"
MATHML = "math semantics mrow mi mo mn mtext mstyle mspace annotation msup msub"


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_takes_the_page_over(page, text):
    page(
        f"""import('/static/markdown.js').then(async ({{ markdown, show }}) => {{
            document.querySelector('#attacked')?.remove();
            const place = document.createElement('div'), grown = document.createElement('div'), text = {json.dumps(text)};
            place.id = 'attacked';
            place.append(...markdown(text), grown);
            document.body.append(place);
            for (let end = 0; end <= text.length; end += 7) show(grown, text.slice(0, end));
            show(grown, text);
            await Promise.all(['/static/highlight/highlight.min.js', '/static/katex/katex.min.js'].map(each => import(each)));
            for (const each of place.querySelectorAll('a, p, li')) each.dispatchEvent(new MouseEvent('mouseover'));
            await new Promise(resolve => setTimeout(resolve));
        }})"""
    )
    left = page(LEFT.format(allowed=json.dumps(f"{MARKUP} {MATHML}".split()), place="document.querySelector('#attacked')"))
    assert left == [[], [], 0, None, 0]


def test_code_is_coloured_by_its_language_and_stays_what_it_was(page):
    code = 'def total(a):\n    return "<b>"  # sum\n'
    said = page(
        f"""import('/static/markdown.js').then(async ({{ show }}) => {{
            const place = document.createElement('div');
            document.body.append(place);
            show(place, {json.dumps(f"```python{chr(10)}{code}```{chr(10)}{chr(10)}```nolanguage{chr(10)}x{chr(10)}```")});
            while (!place.querySelector('.hljs-keyword')) await new Promise(resolve => setTimeout(resolve, 20));
            const [first, second] = place.querySelectorAll('code');
            const keywords = [...first.querySelectorAll('.hljs-keyword')].map(each => each.textContent);
            show(place, {json.dumps(f"```python{chr(10)}{code}x")});
            return [keywords, second.innerHTML, place.querySelectorAll('code').length, first.textContent, place.contains(first)];
        }})"""
    )
    assert said == [["def", "return"], "x", 1, f"{code}x", True]


def test_a_text_that_grows_keeps_what_is_already_there(page):
    said = page(
        """import('/static/markdown.js').then(({ show }) => {
            const place = document.createElement('div');
            show(place, '# One\\n\\nTwo\\n\\n```yaml\\na: 1');
            const [one, two, code] = place.children, text = code.firstChild.firstChild;
            show(place, '# One\\n\\nTwo more\\n\\n```yaml\\na: 1\\nb: 2');
            const kept = [place.children[0] === one, place.children[1] === two, place.children[2] === code];
            const grown = [code.firstChild.firstChild === text, text.data];
            show(place, '# One');
            return [kept, grown, place.innerHTML];
        })"""
    )
    assert said == [[True, False, True], [True, "a: 1\nb: 2"], "<h3>One</h3>"]


def test_twenty_kilobytes_are_drawn_often_enough_to_follow_them(page):
    words = (
        "## A heading\n\n**Words** with `code` and [a link](https://docs.example/).\n\n- one\n  - two\n\n|a|b|\n|-|-|\n|1|2|\n\n"
    )
    took = page(
        f"""import('/static/markdown.js').then(({{ show }}) => {{
            const text = {json.dumps(words)}.repeat(150).slice(0, 20000), place = document.createElement('div');
            const each = (from, to) => {{
                const began = performance.now();
                for (let end = from; end <= to; end += 50) show(place, text.slice(0, end));
                return (performance.now() - began) / (to - from);
            }};
            each(0, 20000);
            return [each(0, 2500), each(17500, 20000)];
        }})"""
    )
    assert took[1] < 20 * took[0] + 0.2, "milliseconds a character, at the beginning and at the end"


@pytest.mark.parametrize(
    "piece",
    [
        "*a ",
        "a* ",
        "**",
        "_a*b",
        "[",
        "[a](",
        "[[a]",
        "`",
        "` `` ",
        "\\",
        "> ",
        "- ",
        "  - a\n",
        "#",
        "# a   ",
        "|",
        "|-",
        "~",
        "h",
        "<",
        "http://",
        "- a\n\n",
        "\n",
        " ",
        "![",
        "$",
        "$a ",
        "$$\n",
        "\\[\n",
        "\\(a ",
    ],
)
def test_no_text_takes_long(page, piece):
    took = page(
        f"""import('/static/markdown.js').then(({{ markdown }}) => {{
            const once = (size) => {{
                const text = {json.dumps(piece)}.repeat(size / {len(piece)}), began = performance.now();
                for (const each of [text, 'x' + text + 'x', text + '\\n' + text]) markdown(each);
                return performance.now() - began;
            }};
            const took = (size) => Math.min(once(size), once(size), once(size));
            took(2500);
            return [took(5000), took(20000)];
        }})"""
    )
    assert took[1] < 12 * took[0] + 200, "milliseconds for 5,000 and for 20,000 characters"
