"""An answer with a type: any model that can call tools can give it, and what doesn't fit is sent back."""

from dataclasses import dataclass

from treadle import Agent
from treadle.testing import Scripted, calls


@dataclass
class Invoice:
    customer: str
    total: float
    paid: bool = False


# The first try leaves something out, the second writes a number as text; neither needs any code here.
model = Scripted(calls(("give_answer", {"customer": "Ann"})), calls(("give_answer", {"customer": "Ann", "total": "12.50"})))
result = Agent(model, output_type=Invoice).run_sync("Read this invoice: Ann owes us 12.50.")
print(result.output)
