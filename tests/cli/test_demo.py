from cli.running import Terminal, treadle


def test_it_plays_a_conversation_of_its_own_where_nobody_types(home):
    ran = treadle(home, "chat", "--demo")
    assert ran.code == 0
    for words in (
        "> How many kettles",
        "We have 12 kettles at $24.50 each.",
        "Done: 5 kettles ordered",
        "never orders more than 100",
    ):
        assert words in ran.out
    for words in ("A demonstration", "needs approval (mended: ", "the demonstration says yes", "denied by", "tokens in"):
        assert words in ran.err
    assert not (home / "data").exists()


def test_asked_nothing_it_plays_too(home):
    assert "> Order 5 kettles" in treadle(home, "ask", "--demo").out


def test_piped_lines_are_answered_instead(home):
    ran = treadle(home, "chat", "--demo", "-q", stdin="What does a cup cost?\nhello\n")
    assert ran.code == 0
    assert ran.out.startswith("I'll look at the shelf and at the price list.\nWe have 140 cups at $4.20 each.\n")
    assert "I am a scripted model" in ran.out


def test_a_piped_question_is_asked(home):
    assert "We have 3 teapots" in treadle(home, "ask", "--demo", stdin="teapots?").out


def test_an_order_waits_and_goes_on_in_another_process(home):
    assert treadle(home, "ask", "--demo", "order 7 cups", "--run-id", "r").code == 3
    (waiting,) = treadle(home, "approve", "r", "--list", "--json").json
    assert waiting["arguments"] == {"item": "cup", "count": 7}
    treadle(home, "approve", "r", waiting["call_id"])
    assert treadle(home, "resume", "r").out == "Done: 7 cups ordered for $29.40; there will be 147.\n"


def test_at_a_terminal_a_newcomer_is_greeted_asked_and_answered(home):
    with Terminal(home, "chat", "--demo", NO_COLOR="1") as terminal:
        greeting = terminal.until("> ")
        assert "A demonstration" in greeting
        assert "Order 5 kettles" in greeting
        terminal.type("Order 2 teapots\n")
        terminal.until("[e]dit:")
        terminal.type("n\n")
        terminal.until("I didn't order anything.")
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.end() == 0
