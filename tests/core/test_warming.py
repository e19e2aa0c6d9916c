"""A model that says so is asked to read in advance what requests begin with."""

import asyncio

from treadle.core.messages import History
from treadle.core.requests import Request, Traits
from treadle.core.seams import warm_model


class Plain:
    name = "plain"

    def __init__(self, traits):
        self.traits = traits


class Warm(Plain):
    def __init__(self, traits):
        super().__init__(traits)
        self.warmed = []

    async def warm(self, request):
        self.warmed.append(request)


def test_only_a_model_that_can_is_warmed():
    request = Request("Be brief.", History())
    able, unable = Warm(Traits(warms=True)), Warm(Traits())
    for model in (able, unable, Plain(Traits(warms=True))):  # the last is a wrapper that doesn't pass it on
        asyncio.run(warm_model(model, request))
    assert (able.warmed, unable.warmed) == ([request], [])
