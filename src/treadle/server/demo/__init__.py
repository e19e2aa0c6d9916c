"""`treadle serve --demo`: a home of its own, with samples of every assistant, recordings to play, and a model where there is none.

Nothing here is needed to serve; it knows Treadle's own assistants, which the rest of the server doesn't.
"""
