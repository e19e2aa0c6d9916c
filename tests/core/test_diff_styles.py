"""The style of each line of a diff: headers, hunks, and lines that look like headers."""

from treadle.core.diff_styles import style_diff

DIFF = """\
diff --git a/q.sql b/q.sql
new file mode 100644
index e1ba225..a5d3ef1
--- a/q.sql
+++ b/q.sql
@@ -1,3 +1,4 @@ first
 select 1;
--- the second
+++ the second
+select 2;

@@ -9 +10 @@
-old
\\ No newline at end of file
+new
diff --git a/b b/b
similarity index 100%
"""


def test_headers_stand_out_and_changed_lines_are_coloured_whatever_they_begin_with():
    styles = [style for _, style in style_diff(DIFF)]
    assert styles == [*["bold"] * 5, "cyan", "", "red", "green", "green", "", "cyan", "red", "", "green", "bold", "bold"]
    assert "\n".join([line for line, _ in style_diff(DIFF)]) == DIFF.rstrip("\n")


def test_a_hunk_that_was_cut_short_ends_where_something_else_begins():
    cut = "@@ -1,9 +1,9 @@\n-a\n[8 more lines]\n--- b\n+++ b\n@@ -1 +1 @@\n-c\n+d\n"
    assert [style for _, style in style_diff(cut)] == ["cyan", "red", "", "bold", "bold", "cyan", "red", "green"]


def test_text_that_is_no_diff_has_colours_only_where_it_says_what_is_added_or_removed():
    assert [style for _, style in style_diff("1. Fix it\n- one\n+ two\n\nAnn")] == ["", "red", "green", "", ""]
