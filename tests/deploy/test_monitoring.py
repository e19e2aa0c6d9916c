"""The dashboard and the alert rules name metrics that there are, with labels that they have."""

import asyncio
import json
import re
from pathlib import Path

import yaml

from treadle.server.metrics import ServerMetrics, collect_metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = re.compile(r"\b((?:treadle|process)_[a-z_]+)(?:\{([^}]*)\})?")


def known_metrics():
    found = set()
    for metric in asyncio.run(collect_metrics(ServerMetrics())):
        found.update([f"{metric.name}{ending}" for ending in metric.parts] if metric.parts else [metric.name])
    return found


def alert_rules():
    said = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    return [rule for group in said["groups"] for rule in group["rules"]]


def dashboard():
    return json.loads((DEPLOY / "grafana" / "treadle.json").read_text())


def named_metrics(expressions):
    return {found[0] for expression in expressions for found in NAME.findall(expression)}


def test_the_dashboard_shows_metrics_that_there_are_and_all_of_ours():
    expressions = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    named, known = named_metrics(expressions), known_metrics()
    assert named <= known
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in known if name.startswith("treadle_")} <= shown


def test_alerts_are_about_metrics_that_there_are_and_say_what_is_wrong():
    assert named_metrics([rule["expr"] for rule in alert_rules()]) <= known_metrics()
    for rule in alert_rules():
        assert rule["annotations"]["summary"].endswith((".", "?"))
        assert rule["labels"]["severity"] in ("page", "warn")
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_values_of_labels_are_those_that_metrics_have():
    states = {"treadle_workers": {"live", "draining", "silent"}, "treadle_leases": {"held", "expired"}}
    for rule in alert_rules():
        for name, labels in NAME.findall(rule["expr"]):
            for label, value in re.findall(r'(\w+)="(\w+)"', labels):
                assert label != "state" or value in states[name], rule["alert"]


def test_the_scrape_configuration_reads_these_rules():
    said = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert [(DEPLOY / "prometheus" / name).is_file() for name in said["rule_files"]] == [True]
    assert {each["job_name"] for each in said["scrape_configs"]} == {"treadle-server", "treadle-worker"}
