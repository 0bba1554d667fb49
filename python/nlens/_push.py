"""nlens.push: the metrics of a run, with the report beside them, where a team keeps its experiments."""
import json
import os
import re
import tempfile
import time
from importlib import import_module
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._engine import UsageError, run
from ._profile import Path, Profile
from ._profile import open as open_profile

Metrics = Dict[str, float]


def push(profile: Union[Path, Profile], to: str, *, where: Optional[Path] = None, step: Optional[int] = None, report: bool = True,
         labels: Optional[Mapping[str, str]] = None) -> Metrics:
    """Sends the metrics of a profile (docs/metrics.md) to another place; what was sent is the answer.

    ``to`` and ``where``: ``"tensorboard"``: a log folder. ``"openmetrics"``: a text file, as Prometheus' node_exporter collects from a folder or
    a Pushgateway takes. ``"mlflow"``: a tracking URI. ``"wandb"``: a project; for the last two ``None`` means the run that is active, or a new one
    with their own settings. The report (HTML) and the answer go with it as an artefact, where there are artefacts and ``report`` is True.
    ``step``: the training step the numbers belong to. ``labels`` mark the numbers (OpenMetrics labels, tags elsewhere).

    Raises UsageError for another ``to`` or where ``where`` is missing, ImportError when the package is not installed, and what the package raises.
    """
    if to not in _PLACES:
        raise UsageError("no place %r to push to; there are %s" % (to, ", ".join(sorted(_PLACES))), 2)
    opened = profile if isinstance(profile, Profile) else open_profile(profile)
    metrics = metrics_of(opened)
    _PLACES[to](opened, metrics, None if where is None else os.fspath(where), step, report, dict(labels or {}))
    return {name: value for name, value, _ in metrics}


def metrics_of(profile: Profile) -> List[Tuple[str, float, str]]:
    """Name, value and unit of each metric of the run document that is known; per rank steps are ``step_p50_ns`` and the like."""
    with tempfile.TemporaryDirectory(prefix="nlens-push-") as folder:
        path = os.path.join(folder, "run.json")
        run(["export", "--quiet", "--to", "run.json", "--output", path, "--", profile.name])
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    found = [(row["name"], float(row["value"]), row["unit"]) for row in document["metrics"] if row["value"] is not None]
    saving = profile.answer.get("saving_ns")
    if saving is not None:
        found.append(("saving_ns", float(saving), "ns"))
    return found


def _report(profile: Profile, folder: str) -> str:
    path = os.path.join(folder, "neurolens-report.html")
    profile.report(path)
    return path


def _tensorboard(profile: Profile, metrics: List[Tuple[str, float, str]], where: Optional[str], step: Optional[int], report: bool,
                 labels: Dict[str, str]) -> None:
    if where is None:
        raise UsageError("push to tensorboard: where=FOLDER is missing", 2)
    event: Any = import_module("tensorboard.compat.proto.event_pb2")
    summary: Any = import_module("tensorboard.compat.proto.summary_pb2")
    tensor: Any = import_module("tensorboard.compat.proto.tensor_pb2")
    writer: Any = import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter(where)
    now = time.time()
    try:
        for name, value, _ in metrics:
            scalar = summary.Summary(value=[summary.Summary.Value(tag="neurolens/" + name, simple_value=value)])
            writer.add_event(event.Event(wall_time=now, step=step or 0, summary=scalar))
        if report:
            text = "\n".join(_markdown(profile, labels))
            words = tensor.TensorProto(dtype="DT_STRING", string_val=[text.encode()])
            kind = summary.SummaryMetadata(plugin_data=summary.SummaryMetadata.PluginData(plugin_name="text"))
            shown = summary.Summary(value=[summary.Summary.Value(tag="neurolens/answer", metadata=kind, tensor=words)])
            writer.add_event(event.Event(wall_time=now, step=step or 0, summary=shown))
    finally:
        writer.close()


def _markdown(profile: Profile, labels: Dict[str, str]) -> Iterator[str]:
    yield "**%s**\n" % profile.answer["sentence"]
    for finding in profile.findings:
        yield "1. %s" % finding["title"]
    for name, value in labels.items():
        yield "\n%s: %s" % (name, value)


def _openmetrics(profile: Profile, metrics: List[Tuple[str, float, str]], where: Optional[str], step: Optional[int], report: bool,
                 labels: Dict[str, str]) -> None:
    if where is None:
        raise UsageError("push to openmetrics: where=FILE is missing", 2)
    text = openmetrics(metrics, dict({"profile": os.path.basename(profile.name)}, **labels))
    part = "%s.%d.tmp" % (where, os.getpid())
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, where)  # a collector that reads now sees the old file or the new one


def openmetrics(metrics: List[Tuple[str, float, str]], labels: Mapping[str, str]) -> str:
    """Gauges as OpenMetrics 1.0 writes them; times in seconds, shares as ratios, as its naming rules want."""
    for name in labels:
        if not re.match(r"[a-zA-Z_][a-zA-Z0-9_]*\Z", name):
            raise UsageError("%r is no name of a label: letters, digits and _" % name, 2)
    escaped = {"\\": "\\\\", "\n": "\\n", '"': '\\"'}
    shown = ",".join('%s="%s"' % (name, re.sub(r'[\\\n"]', lambda match: escaped[str(match.group(0))], str(value))) for name, value in labels.items())
    lines = []
    for name, value, unit in metrics:
        if unit == "ns":
            name, value, unit = re.sub("_ns$", "", name) + "_seconds", value / 1e9, "seconds"
        elif unit == "0..1":
            name, unit = re.sub("_share$", "", name) + "_ratio", "ratio"
        elif unit == "bytes":
            name = re.sub("_bytes$", "", name) + "_bytes"
        else:
            unit = ""
        lines.append("# TYPE neurolens_%s gauge" % name)
        if unit:
            lines.append("# UNIT neurolens_%s %s" % (name, unit))
        lines.append("neurolens_%s{%s} %r" % (name, shown, value))
    return "\n".join(lines) + "\n# EOF\n"


def _mlflow(profile: Profile, metrics: List[Tuple[str, float, str]], where: Optional[str], step: Optional[int], report: bool,
            labels: Dict[str, str]) -> None:
    mlflow: Any = import_module("mlflow")
    if where is not None:
        mlflow.set_tracking_uri(where)
    own = None if mlflow.active_run() else mlflow.start_run()
    try:
        mlflow.log_metrics({"neurolens." + name: value for name, value, _ in metrics}, step=step)
        mlflow.set_tags(dict({"neurolens." + name: value for name, value in labels.items()}, **{"neurolens.answer": profile.answer["sentence"]}))
        if report:
            with tempfile.TemporaryDirectory(prefix="nlens-push-") as folder:
                mlflow.log_artifact(_report(profile, folder), "neurolens")
    finally:
        if own is not None:
            mlflow.end_run()


def _wandb(profile: Profile, metrics: List[Tuple[str, float, str]], where: Optional[str], step: Optional[int], report: bool,
           labels: Dict[str, str]) -> None:
    wandb: Any = import_module("wandb")
    own = None if wandb.run is not None else wandb.init(project=where)
    active = wandb.run
    try:
        active.log({"neurolens/" + name: value for name, value, _ in metrics}, step=step, commit=True)
        active.summary.update(dict({"neurolens/" + name: value for name, value in labels.items()},
                                   **{"neurolens/" + name: value for name, value, _ in metrics}, **{"neurolens/answer": profile.answer["sentence"]}))
        if report:
            with tempfile.TemporaryDirectory(prefix="nlens-push-") as folder:
                artifact = wandb.Artifact("neurolens-" + re.sub(r"[^\w.-]", "_", os.path.basename(profile.name))[:100], type="profile-report")
                artifact.add_file(_report(profile, folder))
                active.log_artifact(artifact)
    finally:
        if own is not None:
            own.finish()


_PLACES: Dict[str, Callable[[Profile, List[Tuple[str, float, str]], Optional[str], Optional[int], bool, Dict[str, str]], None]] = {
    "tensorboard": _tensorboard, "openmetrics": _openmetrics, "mlflow": _mlflow, "wandb": _wandb}
