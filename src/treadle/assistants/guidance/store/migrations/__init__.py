"""How a database comes to have the tables of this version: one file for each step, in `versions`, numbered from the first.

A step that was released is never changed. A step says all it needs itself, and asks `tables` for nothing.
"""
