"""Keras 3: batches of training as steps, epochs, evaluation and prediction, and eager calls of layers.

A callback of ours joins those of every fit(), evaluate() and predict(). Calls of layers while a backend
traces them for its compiler are not recorded: what runs later is not those calls.
"""
import functools
import sys

from . import _capture
from ._hooks import attempt, problem


def make_callback(keras):
    begin, end = _capture.begin, _capture.end

    class Recorder(keras.callbacks.Callback):
        count = 0

        def __init__(self):
            super().__init__()
            self.open = {}

        def begin(self, name):
            self.open[name] = begin(name, _capture.SCOPE)

        def end(self, name):
            end(self.open.pop(name, 0))

        def on_train_batch_begin(self, batch, logs=None):
            if not _capture.has_own_steps():
                self.open["step"] = _capture.step_begin(Recorder.count)
            Recorder.count += 1

        def on_train_batch_end(self, batch, logs=None):
            self.end("step")

        def on_epoch_begin(self, epoch, logs=None):
            self.begin("epoch")

        def on_epoch_end(self, epoch, logs=None):
            self.end("epoch")

        def on_test_begin(self, logs=None):
            self.begin("evaluate")

        def on_test_end(self, logs=None):
            self.end("evaluate")

        def on_predict_begin(self, logs=None):
            self.begin("predict")

        def on_predict_end(self, logs=None):
            self.end("predict")

    return Recorder


def join_callbacks(keras):
    recorder = make_callback(keras)
    inner = keras.callbacks.CallbackList.__init__

    @functools.wraps(inner)
    def __init__(self, callbacks=None, *args, **kwargs):
        try:
            given = [] if callbacks is None else callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
            own = any(type(each).__module__ == "nlens" for each in given)  # nlens.KerasCallback marks the same and more
            callbacks = list(given) + ([] if own else [recorder()])
        except Exception as wrong:
            problem("Keras callbacks", wrong)
        return inner(self, callbacks, *args, **kwargs)

    keras.callbacks.CallbackList.__init__ = __init__


def tracing_test(keras):
    """A function that tells whether a call with this first argument only builds a program."""
    symbol = keras.KerasTensor
    backend = keras.backend.backend()
    if backend == "jax":
        tracer = sys.modules["jax"].core.Tracer
        return lambda first: isinstance(first, (symbol, tracer))
    if backend == "tensorflow":
        inside = sys.modules["tensorflow"].inside_function
        return lambda first: isinstance(first, symbol) or inside()
    if backend == "torch":
        compiling = sys.modules["torch"].compiler.is_compiling
        return lambda first: compiling() or isinstance(first, symbol)
    return lambda first: isinstance(first, symbol)


def patch_layers(keras):
    traces = tracing_test(keras)
    inner = keras.layers.Layer.__call__
    begin, end, kind = _capture.begin, _capture.end, _capture.LAYER

    @functools.wraps(inner)
    def __call__(self, *args, **kwargs):
        if traces(args[0] if args else None):
            return inner(self, *args, **kwargs)
        token = begin(getattr(self, "path", None) or type(self).__name__, kind)
        try:
            return inner(self, *args, **kwargs)
        finally:
            end(token)

    keras.layers.Layer.__call__ = __call__


def install():
    import keras
    attempt("Keras callbacks", join_callbacks, keras)
    if keras.backend.backend() != "torch":  # there layers are modules of PyTorch too
        attempt("Keras layers", patch_layers, keras)
