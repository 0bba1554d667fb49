"""JAX: annotations that JAX's own profiler knows are recorded as steps and scopes, compile times as counters.

    neurolens run -o train.nlt -- python train.py
    neurolens analyze train.nlt
"""
import jax
import jax.numpy as jnp


@jax.jit
def step(weights, x):
    return weights - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(weights)


def main():
    weights, x = jnp.ones((64, 64)), jnp.ones((32, 64))
    for number in range(5):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            with jax.profiler.TraceAnnotation("update"):
                weights = step(weights, x).block_until_ready()
    print(float(weights.sum()))


if __name__ == "__main__":
    main()
