"""The outline of a source file: its definitions with line ranges, found by tree-sitter in thirteen languages.

`builder.build_outline` makes one in this process, `outliner.Outliner` in a child process that may crash; `formatter`
formats it for a model.
"""
