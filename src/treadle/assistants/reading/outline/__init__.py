"""The outline of a source file: its definitions with their line ranges, found by tree-sitter in thirteen languages.

`tree.outline` makes one in this process, `worker.Outliner` in a child process that may crash; `compact` writes it for a model.
"""
