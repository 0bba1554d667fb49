"""JAX: the program's own annotations as steps and scopes, and what compiling took.

Compilations come from jax.monitoring, which tells a length when all is over: they are values, not scopes.
"""
from . import _capture
from ._hooks import attempt


def annotations(jax):
    """jax.profiler.TraceAnnotation and StepTraceAnnotation, which record for XLA's profiler, record here too."""
    profiler = jax.profiler

    def recorded(base, scope_of):
        class Annotation(base):
            def __init__(self, name, *args, **kwargs):
                super().__init__(name, *args, **kwargs)
                self._nlens = scope_of(name, kwargs)

            def __enter__(self):
                self._nlens.__enter__()
                return super().__enter__()

            def __exit__(self, *problem):
                self._nlens.__exit__(*problem)
                return super().__exit__(*problem)

        Annotation.__module__, Annotation.__name__, Annotation.__qualname__ = "jax.profiler", base.__name__, base.__name__
        setattr(profiler, base.__name__, Annotation)

    recorded(profiler.TraceAnnotation, lambda name, given: _capture.scope(name))
    recorded(profiler.StepTraceAnnotation, lambda name, given: _capture.step(given.get("step_num"), name))


def compilations(jax):
    import jax.monitoring

    def took(event, seconds, **more):
        _capture.counter("JAX " + event.strip("/").split("/")[-1].replace("_duration", ""), seconds, "s")

    jax.monitoring.register_event_duration_secs_listener(took)


def install():
    import jax
    attempt("JAX annotations", annotations, jax)
    attempt("JAX compilations", compilations, jax)
