"""Files in `deploy`: they can be read, agree with the command line, and units are accepted by systemd where it is installed.

The chart's templates are rendered by what they use of Helm's language, not by Helm itself.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from treadle.cli.options import build_parser

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "treadle"


def parsed(words):
    """The command line, or the end of the test where it has no such option."""
    return build_parser().parse_args([re.sub(r"\$\{[^}]*\}", "name", word) for word in words])


# containers


def test_the_image_installs_extras_that_there_are_and_starts_a_server():
    text = (DEPLOY / "Containerfile").read_text()
    (extras,) = re.findall(r"\.\[([a-z,]+)\]", text)
    project = (DEPLOY.parent / "pyproject.toml").read_text()
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras.split(","))
    (command,) = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert parsed(json.loads(command)).behind_proxy
    assert re.search(r"^USER \d+$", text, re.MULTILINE)


def test_compose_has_a_server_workers_and_a_database_and_no_secret():
    said = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = said["services"]
    assert set(services) == {"postgres", "server", "worker"}
    server, worker = parsed(services["server"]["command"]), parsed(services["worker"]["command"])
    assert (server.command, worker.command, worker.metrics) == ("serve", "worker", "0.0.0.0:9464")
    assert int(services["worker"]["stop_grace_period"].removesuffix("s")) > worker.drain
    assert {volume.partition(":")[0] for each in services.values() for volume in each.get("volumes", ())} == set(said["volumes"])
    for name, value in services["server"]["environment"].items():
        assert "${" in value, name
    assert services["server"]["ports"] == ["127.0.0.1:8080:8080"]
    assert (DEPLOY / services["server"]["build"]["context"] / services["server"]["build"]["dockerfile"]).is_file()


# systemd


@pytest.mark.parametrize("name", ["treadle-server.service", "treadle-worker@.service"])
def test_units_start_commands_that_there_are(name):
    text = (DEPLOY / "systemd" / name).read_text()
    (command,) = re.findall(r"^ExecStart=/opt/treadle/bin/treadle (.*)$", text, re.MULTILINE)
    options = parsed(command.split())
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert int(seconds) > getattr(options, "drain", 0) + 8
    assert "NoNewPrivileges=yes" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
def test_units_are_accepted_by_systemd(tmp_path):
    units = []
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        unit = tmp_path / path.name.replace("@.", "@1.")
        unit.write_text(path.read_text().replace("/opt/treadle/bin/treadle", "/bin/true"))
        units.append(str(unit))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    if "Failed to" in done.stderr and not any(Path(unit).name in done.stderr for unit in units):
        pytest.skip("systemd can't verify units here")
    assert not [line for line in done.stderr.splitlines() if any(Path(unit).name in line for unit in units)]


# Helm


class Template:
    """Renders what these templates use: values, `quote`, `toJson`, `add`, `range` and `if`."""

    def __init__(self, text):
        trimmed = re.sub(r"\s*\{\{-", "{{", text)
        self._parts = re.split(r"\{\{-?\s*(.*?)\s*-?\}\}", trimmed)

    def render(self, root):
        text, rest = self._block(0, root, root, {})
        assert rest >= len(self._parts)
        return text

    def _block(self, at, root, here, names):
        found = []
        while at < len(self._parts):
            found.append(self._parts[at])
            if at + 1 >= len(self._parts):
                return "".join(found), at + 1
            action, at = self._parts[at + 1], at + 2
            if action == "end":
                return "".join(found), at
            if action.startswith("range "):
                target = action.removeprefix("range ")
                pair = re.fullmatch(r"(\$\w+), (\$\w+) := (.*)", target)
                items = self._value(pair[3] if pair else target, root, here, names)
                rounds = items.items() if pair else [(None, item) for item in items]
                end = self._skip(at)
                for key, item in rounds:
                    inner = {**names, pair[1]: key, pair[2]: item} if pair else names
                    found.append(self._block(at, root, here if pair else item, inner)[0])
                at = end
            elif action.startswith("if "):
                end = self._skip(at)
                if self._value(action.removeprefix("if "), root, here, names):
                    found.append(self._block(at, root, here, names)[0])
                at = end
            else:
                found.append(str(self._value(action, root, here, names)))
        return "".join(found), at

    def _skip(self, at):
        depth = 1
        while depth:
            action, at = self._parts[at + 1], at + 2
            depth += action.startswith(("range ", "if ")) - (action == "end")
        return at

    def _value(self, text, root, here, names):
        first, *filters = [each.strip() for each in text.split("|")]
        if first.startswith("add "):
            _, one, other = first.split()
            value = int(self._value(one, root, here, names)) + int(other)
        elif first in names:
            value = names[first]
        else:
            value = root if first.startswith("$") else here
            for part in filter(None, first.removeprefix("$").split(".")):
                value = value[part]
        for each in filters:
            value = {"quote": lambda given: json.dumps(str(given)), "toJson": json.dumps}[each](value)
        return value


def rendered(name, **changed):
    values = yaml.safe_load((CHART / "values.yaml").read_text()) | changed
    text = Template((CHART / "templates" / name).read_text()).render({"Release": {"Name": "team"}, "Values": values})
    return [each for each in yaml.safe_load_all(text) if each]


def container_of(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container


def check_selector(deployment):
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels


def test_the_chart_renders_servers_with_probes_behind_a_service_and_an_ingress():
    deployment, service = rendered("server.yaml", environment={"OTEL_SERVICE_NAME": "team"})
    check_selector(deployment)
    container = container_of(deployment)
    assert parsed(container["args"]).name == ["treadle.example.org"]
    assert [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")] == ["/health", "/ready"]
    assert {"name": "OTEL_SERVICE_NAME", "value": "team"} in container["env"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    (ingress,) = rendered("ingress.yaml")
    (rule,) = ingress["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == service["metadata"]["name"]
    assert rendered("ingress.yaml", ingress={"enabled": False}) == []


def test_the_chart_renders_workers_by_queue_that_have_time_to_drain():
    (values,) = yaml.safe_load((CHART / "values.yaml").read_text())["workers"]
    deployments = rendered(
        "workers.yaml", workers=[values, values | {"name": "gpu", "queues": ["gpu", "default"], "drainSeconds": 300}]
    )
    assert [each["metadata"]["name"] for each in deployments] == ["team-worker-default", "team-worker-gpu"]
    for each in deployments:
        check_selector(each)
        options = parsed(container_of(each)["args"])
        assert each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > options.drain + 8
    assert parsed(container_of(deployments[1])["args"]).queue == ["gpu", "default"]


def test_the_charts_version_is_that_of_the_package():
    from treadle import __version__

    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__


# the reverse proxy


def test_the_proxy_passes_events_on_at_once_and_keeps_metrics_inside():
    nginx, caddy = (DEPLOY / "proxy" / "nginx.conf").read_text(), (DEPLOY / "proxy" / "Caddyfile").read_text()
    assert nginx.count("{") == nginx.count("}")
    assert "proxy_buffering off" in nginx
    assert "flush_interval -1" in caddy
    for text in (nginx, caddy):
        assert "/metrics" in text
