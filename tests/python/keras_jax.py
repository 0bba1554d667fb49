"""A model of Keras, on the backend that KERAS_BACKEND names; on JAX its own annotations too."""
import keras
import numpy

first = keras.layers.Dense(8, name="first")
second = keras.layers.Dense(1, name="second")


class Net(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.first = first
        self.second = second

    def call(self, x):
        return self.second(self.first(x))


x = numpy.zeros((16, 4), "float32")
y = numpy.zeros((16, 1), "float32")
model = Net()
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=[keras.callbacks.History()])
model.evaluate(x, y, verbose=0)
model.predict(x, verbose=0)
for _ in range(3):
    model(x)

if keras.backend.backend() == "jax":
    import jax
    import jax.numpy as jnp
    double = jax.jit(lambda value: 2 * value)
    for step in range(10, 14):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            with jax.profiler.TraceAnnotation("inside"):
                double(jnp.ones(3)).block_until_ready()
