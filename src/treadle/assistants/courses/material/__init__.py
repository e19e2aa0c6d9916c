"""Course material: files of many formats, converted to courses with lessons, in passages that can be found and cited.

A format parser returns one text (`formats`), `layout` finds the lessons in it, and `reader` resolves its course and
splits it. Nothing here is stored or searched.
"""
