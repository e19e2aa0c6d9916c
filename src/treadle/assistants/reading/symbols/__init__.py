"""The symbol index of a folder: definitions, references and callers, found by tree-sitter and stored in Treadle's data folder.

`index.SymbolIndex` keeps it up to date and answers questions; `extraction` reads one file, `store` is the database,
`graph` counts references between files, and ranks them.
"""
