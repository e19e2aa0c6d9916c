"""Material: files of many formats made into courses with lessons, in passages that can be found and cited.

A format gives one text (`formats`), `layout` finds the lessons in it, `belonging` says which course it is of, `cut` makes pieces;
`reader` does all of it. Nothing here keeps or searches anything.
"""
