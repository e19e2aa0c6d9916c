"""What there is at the first start: four users in three teams, six applications, and what befell them in the last days.

The past isn't made up row by row: each deployment is asked for and carried on by the platform itself, at a time that has passed.
"""

from datetime import datetime, timedelta
from sqlite3 import Connection

from msgspec import Struct

from treadle.assistants.platform.demo import applications, executions, resources
from treadle.assistants.platform.demo.store import row, rows, update
from treadle.assistants.platform.demo.values import Asked, User, Visit

USERS = (
    User("admin", "platform", "admin"),
    User("alice", "shop", "developer"),
    User("bob", "data", "developer"),
    User("carol", "platform", "developer"),
)

STOREFRONT = """\
apiVersion: score.dev/v1b1
metadata:
  name: storefront
containers:
  web:
    image: registry.example/shop/storefront:4.2.1
    variables:
      DATABASE_URL: "postgres://${resources.db.username}:${resources.db.password}@${resources.db.host}:5432/shop"
      IMAGES_BUCKET: "${resources.images.bucket}"
  worker:
    image: registry.example/shop/storefront-worker:4.2.1
    variables:
      DATABASE_URL: "postgres://${resources.db.username}:${resources.db.password}@${resources.db.host}:5432/shop"
resources:
  db:
    type: postgres
    params: {version: "16", storage: 20Gi}
  images:
    type: s3-bucket
    params: {size: 50Gi}
"""

DEMO_APP = """\
apiVersion: score.dev/v1b1
metadata:
  name: demo-app
containers:
  app:
    image: registry.example/demo/app:{version}
    variables:
      DB_HOST: "${resources.db.host}"
      PORT: "8080"
resources:
  db:
    type: postgres-mock
    params: {version: "15"}
"""

CHECKOUT = """\
apiVersion: score.dev/v1b1
metadata:
  name: checkout
containers:
  api:
    image: registry.example/shop/checkout:0.9.0
    variables:
      LEDGER: "${resources.ledger.host}"
resources:
  ledger:
    type: postgres
    params: {version: "16", storage: 5Gi}
environment:
  type: production
"""

METRICS = """\
apiVersion: score.dev/v1b1
metadata:
  name: metrics-pipeline
containers:
  collector:
    image: registry.example/data/collector:2.0.3
    variables:
      RAW_BUCKET: "${resources.raw-events.bucket}"
      WAREHOUSE: "${resources.warehouse.host}"
resources:
  raw-events:
    type: s3-bucket
    params: {size: 500Gi}
  warehouse:
    type: postgres
    params: {version: "16", storage: 200Gi}
"""

REPORTS = """\
apiVersion: score.dev/v1b1
metadata:
  name: reports
containers:
  reports:
    image: registry.example/data/reports:1.7.0
    variables:
      DATABASE: "${resources.db.host}"
resources:
  db:
    type: postgres
    params: {version: "15", storage: 10Gi}
environment:
  type: ephemeral
  ttl: 72h
"""
SCRATCH = "  scratch:\n    type: s3-bucket\n    params: {size: 1Gi}\n"

PORTAL = """\
apiVersion: score.dev/v1b1
metadata:
  name: developer-portal
containers:
  portal:
    image: registry.example/platform/portal:3.1.0
    variables:
      OIDC_GROUP: "${resources.developers.id}"
resources:
  developers:
    type: keycloak-group
environment:
  type: kubernetes
"""


class Failure(Struct, frozen=True):
    """How a step failed in the past, for reasons that aren't in the spec."""

    step: str
    message: str
    logs: str


class Past(Struct, frozen=True):
    """A deployment that was. `waits` names a step that never ends."""

    hours: float
    who: User
    spec: str
    path: str = ""
    failure: Failure | None = None
    waits: str = ""


UNHEALTHY = Failure(
    "check-health",
    "health check failed: GET http://demo-app:8080/healthz answered 503 for 120 s",
    "Waiting for http://demo-app:8080/healthz\n"
    "app: connecting to the database at ${resources.db.host}\n"
    'app: FATAL: password authentication failed for user "demo"\n'
    "GET /healthz answered 503 (24 times)",
)
QUOTA = Failure(
    "provision-raw-events",
    "quota exceeded: team data has 10 of 10 buckets",
    "storage-team: provision s3-bucket raw-events\nPOST /buckets answered 409",
)

_ADMIN, _ALICE, _BOB, _CAROL = USERS
HISTORY = (
    Past(240, _ALICE, STOREFRONT),
    Past(200, _CAROL, PORTAL, "onboard-dev-team"),
    Past(120, _BOB, REPORTS.replace("environment:", f"{SCRATCH}environment:")),
    Past(96, _ALICE, DEMO_APP.replace("{version}", "2.0.0")),
    Past(72, _BOB, REPORTS),
    Past(50, _BOB, METRICS, failure=QUOTA),
    Past(26, _ALICE, DEMO_APP.replace("{version}", "2.1.0"), failure=UNHEALTHY),
    Past(3, _ALICE, CHECKOUT, waits="deploy-containers"),
)

FULL = "47.8 of 50 GiB are used; above 95 % uploads are slowed down"


def fill(db: Connection, now: datetime) -> None:
    """Let the past happen, in a platform that has none."""
    for each in HISTORY:
        _happen(db, now, each)
    for images in rows(db, "SELECT id FROM resources WHERE resource_name = 'images'"):
        resources.move(db, now - timedelta(hours=7), images["id"], "degraded", "the bucket is nearly full", "storage-team", FULL)


def _happen(db: Connection, now: datetime, past: Past) -> None:
    at = now - timedelta(hours=past.hours)
    visit = Visit(db, at, past.who, "new")
    query = {f"param.{key}": "platform" for key in ("team_name",)}
    asked = Asked("POST", "/", query, {}, {}, {"path": past.path}, past.spec.encode(), "")
    (applications.execute_golden_path if past.path else applications.deploy)(visit, asked)
    execution = visit.begun[-1]
    _arrange(db, execution, past)
    wait: float | None = 0.0
    while wait is not None:
        wait = executions.advance(db, at, execution)
        at += timedelta(seconds=17)


def _arrange(db: Connection, execution: int, past: Past) -> None:
    """Have the steps of an execution fare as they did."""
    step_of = "SELECT id FROM steps WHERE execution_id = ? AND step_name = ?"
    if past.failure and (failing := row(db, step_of, execution, past.failure.step)):
        update(db, "steps", failing["id"], failure=past.failure.message, output_logs=past.failure.logs)
    if past.waits and (waiting := row(db, step_of, execution, past.waits)):
        logs = "Applied deployment/checkout with api.\nWaiting for a node with 16 GiB of free memory: 0 of 3 nodes fit."
        update(db, "steps", waiting["id"], takes=None, output_logs=logs)
