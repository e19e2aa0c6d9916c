"""`treadle serve --demo`: a separate home with samples for every assistant, recordings, and a model where there is none.

Nothing here is needed to serve; it knows Treadle's own assistants, which the rest of the server doesn't.
"""
