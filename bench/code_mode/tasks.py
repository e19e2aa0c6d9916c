"""Fifty tasks that need several calls, as programs, and the shop that they are about.

The model that calls one tool at a time makes the very calls of the program, in its order, and gives the same answer.
"""

import ast
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any, Literal

from msgspec import Struct, to_builtins

from treadle import ToolProblem, tool

Status = Literal["paid", "cancelled", "open", "shipped"]


class Customer(Struct):
    """A customer."""

    id: int
    name: str
    email: str
    country: str
    currency: str


class Order(Struct):
    """An order of a customer."""

    id: int
    customer_id: int
    sku: str
    quantity: int
    total: float
    status: Status


class Product(Struct):
    """A product."""

    sku: str
    title: str
    cost: float
    price: float


class Shop:
    """The world of a task. `effects` are what was changed, in order."""

    def __init__(self, record: Callable[[str], None] | None = None) -> None:
        self.effects: list[str] = []
        self._record = record or self.effects.append

    def tools(self) -> list[Any]:  # noqa: C901 - one function for each
        """Return the tools."""

        @tool(effect="read")
        async def list_customers(country: str) -> list[Customer]:
            """List the customers of a country."""
            return [_customer(number) for number in range(1, 13) if _customer(number).country == country]

        @tool(effect="read")
        async def list_orders(customer_id: int) -> list[Order]:
            """List the orders of a customer."""
            return [_order(customer_id * 10 + number) for number in range(4)]

        @tool(effect="read")
        async def get_order(order_id: int) -> Order:
            """Get an order."""
            return _order(order_id)

        @tool(effect="read")
        async def get_product(sku: str) -> Product:
            """Get a product."""
            number = _product_number(sku)
            return Product(sku, f"Product {number}", float(10 + number), float(12 + number * 2 - number % 3 * 5))

        @tool(effect="read")
        async def stock_level(sku: str, warehouse: str) -> int:
            """Say how many items of a product are in a warehouse."""
            return (_product_number(sku) * 7 + len(warehouse)) % 20

        @tool(effect="read")
        async def exchange_rate(currency: str) -> float:
            """Return what one unit of a currency is worth in euros."""
            return {"EUR": 1.0, "CHF": 1.05, "USD": 0.9}[currency]

        @tool
        async def create_refund(order_id: int, amount: float) -> str:
            """Refund an order."""
            self._record(f"refund {order_id} {amount}")
            return f"refund of order {order_id} created"

        @tool
        async def send_message(customer_id: int, text: str) -> str:
            """Send a message to a customer."""
            self._record(f"message {customer_id} {text}")
            return f"message to customer {customer_id} sent"

        @tool
        async def set_price(sku: str, price: float) -> str:
            """Set the price of a product."""
            self._record(f"price {sku} {price}")
            return f"price of {sku} set"

        @tool
        async def schedule_delivery(order_id: int, day: str) -> str:
            """Schedule the delivery of an order."""
            self._record(f"delivery {order_id} {day}")
            return f"delivery of order {order_id} scheduled"

        readers = [list_customers, list_orders, get_order, get_product, stock_level, exchange_rate]
        return [*readers, create_refund, send_message, set_price, schedule_delivery]


def _customer(number: int) -> Customer:
    country, currency = (("Switzerland", "CHF"), ("Italy", "EUR"), ("USA", "USD"))[number % 3]
    return Customer(number, f"Customer {number}", f"customer{number}@shop.example", country, currency)


def _product_number(sku: str) -> int:
    if sku[:1] != "P" or not sku[1:].isdigit():
        raise ToolProblem(f"There is no product {sku!r}. A SKU is like 'P0'.")
    return int(sku[1:])


def _order(number: int) -> Order:
    statuses: tuple[Status, ...] = ("paid", "cancelled", "open", "shipped")
    return Order(number, number // 10, f"P{number % 9}", 1 + number % 3, round(20 + number * 1.5, 2), statuses[number % 4])


class Task(Struct, frozen=True):
    """What a user asks for, and the program that does it. Its last expression is the answer."""

    prompt: str
    program: str


_TEMPLATES = (
    (
        (
            "What have the customers in {country} spent on paid orders? Add up the totals of their orders with the status "
            "'paid' and a total above {least}, and round the sum to 2 digits."
        ),
        """
import asyncio
customers = await list_customers("{country}")
orders = await asyncio.gather(*[list_orders(c["id"]) for c in customers])
round(sum(o["total"] for some in orders for o in some if o["status"] == "paid" and o["total"] > {least}), 2)
""",
    ),
    (
        (
            "Refund the orders of the customers in {country} that have the status 'cancelled' and a total above {least}. "
            "Refund the whole total of each. How many orders did you refund?"
        ),
        """
count = 0
for customer in await list_customers("{country}"):
    for order in await list_orders(customer["id"]):
        if order["status"] == "cancelled" and order["total"] > {least}:
            await create_refund(order["id"], order["total"])
            count += 1
count
""",
    ),
    (
        (
            "Look at the orders of each customer in {country}. Send a message to those customers who have orders with the "
            "status 'open' and a total above {least}. Its text is 'You have N open orders.', with the number of these orders "
            "for N. List the names of the customers that you wrote to."
        ),
        """
written = []
for customer in await list_customers("{country}"):
    orders = [o for o in await list_orders(customer["id"]) if o["status"] == "open" and o["total"] > {least}]
    if orders:
        await send_message(customer["id"], f"You have {{len(orders)}} open orders.")
        written.append(customer["name"])
written
""",
    ),
    (
        (
            "Which of the products P0 to P8 have fewer than {least} items in stock, in the warehouses Basel, Genoa and Lyon "
            "together? List their SKUs."
        ),
        """
import asyncio
short = []
for number in range(9):
    levels = await asyncio.gather(*[stock_level(f"P{{number}}", w) for w in ("Basel", "Genoa", "Lyon")])
    if sum(levels) < {least}:
        short.append(f"P{{number}}")
short
""",
    ),
    (
        (
            "The price of a product should be at least {least} percent above its cost. Look at the products P0 to P8, and set"
            " the price of each one that is cheaper than that to its cost plus {least} percent, rounded to 2 digits. List the"
            " SKUs that you changed with their new prices."
        ),
        """
changed = {{}}
for number in range(9):
    product = await get_product(f"P{{number}}")
    price = round(product["cost"] * (1 + {least} / 100), 2)
    if product["price"] < price:
        await set_price(product["sku"], price)
        changed[product["sku"]] = price
changed
""",
    ),
    (
        (
            "What are the orders of the customers in {country} that have the status 'shipped' and a total above {least} worth"
            " in euros, all together? The total of an order is in the currency of its customer. Round the sum to 2 digits."
        ),
        """
total = 0.0
for customer in await list_customers("{country}"):
    rate = await exchange_rate(customer["currency"])
    for order in await list_orders(customer["id"]):
        if order["status"] == "shipped" and order["total"] > {least}:
            total += order["total"] * rate
round(total, 2)
""",
    ),
    (
        (
            "Look at the orders of the customers in {country} that have the status 'paid' and a total above {least}. Schedule"
            " the delivery of each for 2026-12-01 if the warehouse Basel has at least as many items of its product in stock "
            "as were ordered. List the ids of the orders that you scheduled."
        ),
        """
scheduled = []
for customer in await list_customers("{country}"):
    for order in await list_orders(customer["id"]):
        if order["status"] == "paid" and order["total"] > {least}:
            if await stock_level(order["sku"], "Basel") >= order["quantity"]:
                await schedule_delivery(order["id"], "2026-12-01")
                scheduled.append(order["id"])
scheduled
""",
    ),
    (
        (
            "Of which product did the customers in {country} order the most items? Count only orders with a total above "
            "{least}; if several products are equal, take the lowest SKU. Answer with the title of the product and the number"
            " of items, like 'Product 1: 23'."
        ),
        """
counts = {{}}
for customer in await list_customers("{country}"):
    for order in await list_orders(customer["id"]):
        if order["total"] > {least}:
            counts[order["sku"]] = counts.get(order["sku"], 0) + order["quantity"]
best = max(sorted(counts), key=lambda sku: counts[sku])
product = await get_product(best)
f"{{product['title']}}: {{counts[best]}}"
""",
    ),
    (
        (
            "Look at the orders of the customers in {country} that have the status 'open' and a total above {least}. List "
            "their ids with the margin of each: its total minus its quantity times the cost of its product, rounded to 2 "
            "digits."
        ),
        """
margins = {{}}
for customer in await list_customers("{country}"):
    for order in await list_orders(customer["id"]):
        if order["status"] == "open" and order["total"] > {least}:
            product = await get_product(order["sku"])
            margins[order["id"]] = round(order["total"] - order["quantity"] * product["cost"], 2)
margins
""",
    ),
    (
        (
            "Look at the orders with the ids 10 to 24. For each that has the status 'cancelled' and a total above {least}, "
            "refund half of its total, rounded to 2 digits, and send its customer the message 'We refund N.', with that "
            "amount for N. List the ids of these orders."
        ),
        """
import asyncio
orders = await asyncio.gather(*[get_order(number) for number in range(10, 25)])
done = []
for order in orders:
    if order["status"] == "cancelled" and order["total"] > {least}:
        half = round(order["total"] / 2, 2)
        await create_refund(order["id"], half)
        await send_message(order["customer_id"], f"We refund {{half}}.")
        done.append(order["id"])
done
""",
    ),
)
_PLACES = ("Switzerland", "Italy", "USA", "Switzerland", "Italy")
_LEAST = (20, 25, 30, 35, 40)
KIND_SIZE = len(_LEAST)  # tasks that differ in place and amount alone


def make_tasks() -> list[Task]:
    """Return the fifty tasks."""
    fill = [{"country": country, "least": least} for country, least in zip(_PLACES, _LEAST, strict=True)]
    return [Task(prompt.format(**how), program.format(**how)) for prompt, program in _TEMPLATES for how in fill]


class _Asked:
    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self._call = (name, arguments)

    def __await__(self) -> Generator[tuple[str, dict[str, Any]], Any, Any]:
        return (yield self._call)


async def _one_by_one(*asked: _Asked) -> list[Any]:
    return [await each for each in asked]


def step_through(task: Task, tools: list[Any]) -> Generator[tuple[str, dict[str, Any]], Any, Any]:
    """Yield the calls of a task one by one; each is sent its result. Returns the answer."""
    tree = ast.parse(task.program)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import)]
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("answer", ast.Store())], last.value), last)
    names: dict[str, Any] = {"asyncio": SimpleNamespace(gather=_one_by_one)}
    for each in tools:
        spec = each.tool.spec
        keys = list(spec.parameters["properties"])
        names[spec.name] = lambda *args, name=spec.name, keys=keys, **how: _Asked(
            name, {**dict(zip(keys, args, strict=False)), **how}
        )
    code = compile(ast.fix_missing_locations(tree), task.prompt, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, names)
    if running is not None:
        yield from running.__await__()
    return to_builtins(names["answer"])
