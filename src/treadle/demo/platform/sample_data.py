"""Sample data of the first start: four users in three teams, six applications, and their history of the last days.

The history isn't written row by row: each deployment is requested and run by the platform itself, at a past time.
"""

from datetime import datetime, timedelta
from sqlite3 import Connection

from msgspec import Struct

from treadle.demo.platform import applications, executions, resources
from treadle.demo.platform.http_types import PlatformRequest, PlatformUser, RequestContext
from treadle.demo.platform.store import fetch_row, fetch_rows, update_row

USERS = (
    PlatformUser("admin", "platform", "admin"),
    PlatformUser("alice", "shop", "developer"),
    PlatformUser("bob", "data", "developer"),
    PlatformUser("carol", "platform", "developer"),
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


class SampleFailure(Struct, frozen=True):
    """How a step failed in the past, for reasons outside the spec."""

    step: str
    message: str
    logs: str


class SampleDeployment(Struct, frozen=True):
    """A past deployment. `waits` names a step that never ends."""

    hours: float
    who: PlatformUser
    spec: str
    path: str = ""
    failure: SampleFailure | None = None
    waits: str = ""


UNHEALTHY = SampleFailure(
    "check-health",
    "health check failed: GET http://demo-app:8080/healthz answered 503 for 120 s",
    "Waiting for http://demo-app:8080/healthz\n"
    "app: connecting to the database at ${resources.db.host}\n"
    'app: FATAL: password authentication failed for user "demo"\n'
    "GET /healthz answered 503 (24 times)",
)
QUOTA = SampleFailure(
    "provision-raw-events",
    "quota exceeded: team data has 10 of 10 buckets",
    "storage-team: provision s3-bucket raw-events\nPOST /buckets answered 409",
)

_ADMIN, _ALICE, _BOB, _CAROL = USERS
HISTORY = (
    SampleDeployment(240, _ALICE, STOREFRONT),
    SampleDeployment(200, _CAROL, PORTAL, "onboard-dev-team"),
    SampleDeployment(120, _BOB, REPORTS.replace("environment:", f"{SCRATCH}environment:")),
    SampleDeployment(96, _ALICE, DEMO_APP.replace("{version}", "2.0.0")),
    SampleDeployment(72, _BOB, REPORTS),
    SampleDeployment(50, _BOB, METRICS, failure=QUOTA),
    SampleDeployment(26, _ALICE, DEMO_APP.replace("{version}", "2.1.0"), failure=UNHEALTHY),
    SampleDeployment(3, _ALICE, CHECKOUT, waits="deploy-containers"),
)

FULL = "47.8 of 50 GiB are used; above 95 % uploads are slowed down"


def fill_platform(db: Connection, now: datetime) -> None:
    """Create the history in an empty platform."""
    for each in HISTORY:
        _replay_deployment(db, now, each)
    for images in fetch_rows(db, "SELECT id FROM resources WHERE resource_name = 'images'"):
        resources.change_resource_state(
            db, now - timedelta(hours=7), images["id"], "degraded", "the bucket is nearly full", "storage-team", FULL
        )


def _replay_deployment(db: Connection, now: datetime, past: SampleDeployment) -> None:
    at = now - timedelta(hours=past.hours)
    visit = RequestContext(db, at, past.who, "new")
    query = {f"param.{key}": "platform" for key in ("team_name",)}
    asked = PlatformRequest("POST", "/", query, {}, {}, {"path": past.path}, past.spec.encode(), "")
    (applications.execute_golden_path if past.path else applications.deploy_spec)(visit, asked)
    execution = visit.begun[-1]
    _arrange_steps(db, execution, past)
    wait: float | None = 0.0
    while wait is not None:
        wait = executions.advance_execution(db, at, execution)
        at += timedelta(seconds=17)


def _arrange_steps(db: Connection, execution: int, past: SampleDeployment) -> None:
    """Make the steps of an execution end as they did."""
    step_of = "SELECT id FROM steps WHERE execution_id = ? AND step_name = ?"
    if past.failure and (failing := fetch_row(db, step_of, execution, past.failure.step)):
        update_row(db, "steps", failing["id"], failure=past.failure.message, output_logs=past.failure.logs)
    if past.waits and (waiting := fetch_row(db, step_of, execution, past.waits)):
        logs = "Applied deployment/checkout with api.\nWaiting for a node with 16 GiB of free memory: 0 of 3 nodes fit."
        update_row(db, "steps", waiting["id"], takes=None, output_logs=logs)
