"""Callbacks that name what a training loop does: for Lightning, for the Trainer of Hugging Face, and for Keras.

The classes are made when they are first asked for, since each needs the base class of its framework. Steps, epochs and evaluations become
what ``nlens.step`` and ``nlens.scope`` record; nothing of it raises into the training.
"""
import importlib
import logging
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import _capture
from ._engine import UsageError

Window = Optional[Tuple[int, int]]
_log = logging.getLogger("nlens")


class Marks:
    """What a loop is in: one step and any number of named scopes, and the window of steps that is recorded closely."""

    def __init__(self, window: Window, folder: str) -> None:
        if window is not None and not 0 <= window[0] < window[1]:
            raise UsageError("window=%r: the first step and the one after the last, such as (10, 13)" % (window,), 2)
        self._window = window
        self._folder = folder
        self._open: List[Tuple[str, Any]] = []
        self._profiler: Any = None
        self._recording = False

    def __reduce__(self) -> Any:
        """Copies (frameworks copy callbacks into checkpoints and other processes) begin anew."""
        return Marks, (self._window, self._folder)

    def begin(self, name: str) -> None:
        self._enter(name, _capture.scope(name))

    def end(self, name: str) -> None:
        """Ends the scope of that name, with all that were begun after it and never ended (a loop that was left by an exception)."""
        names = [each for each, _ in self._open]
        while name in names:
            last, scope = self._open.pop()
            scope.__exit__(None, None, None)
            if last == name:
                break

    def step_begin(self, index: int) -> None:
        self.end("step")
        if self._window and index == self._window[0]:
            self._record()
        self._enter("step", _capture.step(index))

    def step_end(self, index: int) -> None:
        self.end("step")
        if self._profiler is not None:
            self._profiler.step()
        if self._window and index + 1 >= self._window[1]:
            self.stop()

    def values(self, values: Any) -> None:
        """Numbers of a log (loss, learning rate) as counters."""
        for name, value in (values or {}).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                _capture.counter(str(name), float(value))

    def close(self) -> None:
        self.stop()
        while self._open:
            self._open.pop()[1].__exit__(None, None, None)

    def stop(self) -> None:
        if self._recording:
            _capture.stop()
            self._recording = False
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            try:
                profiler.stop()
            except Exception as wrong:
                _log.warning("torch.profiler did not end: %s: %s", type(wrong).__name__, wrong)

    def _enter(self, name: str, scope: Any) -> None:
        scope.__enter__()
        self._open.append((name, scope))

    def _record(self) -> None:
        """Under ``neurolens run`` the recording opens; else PyTorch's profiler records."""
        if _capture.is_attached():
            _capture.start()
            self._recording = True
            return
        try:
            from torch.profiler import profile
            from ._trace import trace_handler
            self._profiler = profile(on_trace_ready=trace_handler(self._folder))
            self._profiler.start()
        except Exception as wrong:
            self._profiler = None
            _log.warning("torch.profiler did not begin: %s: %s", type(wrong).__name__, wrong)


def _base(places: Tuple[str, ...], name: str, package: str) -> Any:
    """A class of a framework: of the module that the program uses, else of the first that can be imported."""
    for place in [each for each in places if each in sys.modules] + list(places):
        try:
            return getattr(importlib.import_module(place), name)
        except ImportError:
            continue
    raise ImportError("this callback needs %s: pip install %s" % (package, package))


def lightning() -> Any:
    base: Any = _base(("lightning.pytorch", "pytorch_lightning"), "Callback", "lightning")

    class LightningCallback(base):  # type: ignore[misc]
        """``Trainer(callbacks=[nlens.LightningCallback()])``: steps of training, epochs, validation, test and prediction, logged values.

        ``window=(10, 13)``: steps 10 to 12 are recorded closely: under ``neurolens run --paused`` the recording is open for them, else
        torch.profiler records them, and the answer is printed (``nlens.trace_handler(folder)``).
        """

        def __init__(self, window: Window = None, folder: str = "traces") -> None:
            super().__init__()
            self._nlens = Marks(window, folder)
            self._count = 0

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            self._nlens.step_begin(self._count)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self._nlens.step_end(self._count)
            self._count += 1
            self._nlens.values({name: _number(value) for name, value in getattr(trainer, "logged_metrics", {}).items()})

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.begin("epoch")

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.end("epoch")

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.begin("validation")

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.end("validation")

        def on_test_start(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.begin("test")

        def on_test_end(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.end("test")

        def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.begin("predict")

        def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
            self._nlens.end("predict")

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._nlens.close()

        def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
            self._nlens.close()

    return _named(LightningCallback)


def transformers() -> Any:
    base: Any = _base(("transformers",), "TrainerCallback", "transformers")

    class TrainerCallback(base):  # type: ignore[misc]
        """``Trainer(…, callbacks=[nlens.TrainerCallback()])`` of Hugging Face: steps, epochs, evaluations, logged values (loss,
        learning_rate, grad_norm). A step is one of the optimizer, with all batches of gradient accumulation. ``window``, ``folder``: as LightningCallback."""

        def __init__(self, window: Window = None, folder: str = "traces") -> None:
            super().__init__()
            self._nlens = Marks(window, folder)

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.begin("epoch")

        def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.end("epoch")

        def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.step_begin(int(state.global_step))

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.step_end(int(state.global_step) - 1)  # it has been counted by now

        def on_prediction_step(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if not any(name == "evaluate" for name, _ in self._nlens._open):
                self._nlens.begin("evaluate")

        def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.end("evaluate")

        def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **more: Any) -> None:
            self._nlens.end("evaluate")

        def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **more: Any) -> None:
            self._nlens.values(logs)

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._nlens.close()

    return _named(TrainerCallback)


def keras() -> Any:
    base: Any = getattr(_base(("keras",), "callbacks", "keras"), "Callback")

    class KerasCallback(base):  # type: ignore[misc]
        """``model.fit(…, callbacks=[nlens.KerasCallback()])``: steps, epochs, evaluation, prediction, logged values. ``neurolens run``
        joins one by itself; this one has the logged values too, and ``window`` and ``folder`` as LightningCallback (PyTorch's backend)."""

        def __init__(self, window: Window = None, folder: str = "traces") -> None:
            super().__init__()
            self._nlens = Marks(window, folder)
            self._count = 0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._nlens.step_begin(self._count)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._nlens.step_end(self._count)
            self._count += 1

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self._nlens.begin("epoch")

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self._nlens.end("epoch")
            self._nlens.values(logs)

        def on_test_begin(self, logs: Any = None) -> None:
            self._nlens.begin("evaluate")

        def on_test_end(self, logs: Any = None) -> None:
            self._nlens.end("evaluate")

        def on_predict_begin(self, logs: Any = None) -> None:
            self._nlens.begin("predict")

        def on_predict_end(self, logs: Any = None) -> None:
            self._nlens.end("predict")

        def on_train_end(self, logs: Any = None) -> None:
            self._nlens.close()

    return _named(KerasCallback)


def _named(kind: Any) -> Any:
    kind.__module__, kind.__qualname__ = "nlens", kind.__name__  # pickled and shown under the name that people write
    return kind


def _number(value: Any) -> Any:
    """A number of a tensor on the CPU; tensors on devices are left alone: reading one would wait for the device."""
    if isinstance(value, (int, float)):
        return value
    device = getattr(getattr(value, "device", None), "type", None)
    if device == "cpu" and getattr(value, "ndim", 1) == 0:
        return float(value)
    return None
