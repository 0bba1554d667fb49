"""Small ONNX models, encoded by hand (onnx.proto of ONNX 1.12, opset 13), for tests of `profile`.

    from onnxmodel import cnn, attention, save
    save(cnn(), "cnn.onnx")
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
from protowire import field  # noqa: E402

FLOAT, INT64, BOOL = 1, 7, 9


class Weights:
    """Numbers in (-0.1, 0.1) from a linear congruential generator: the same in every run."""

    def __init__(self):
        self.state = 12345

    def tensor(self, name, *shape):
        count = 1
        for size in shape:
            count *= size
        values = []
        for _ in range(count):
            self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
            values.append((self.state / 0x7FFFFFFF - 0.5) * 0.2)
        return (b"".join(field(1, size) for size in shape) + field(2, FLOAT) + field(8, name) +
                field(9, struct.pack("<%df" % count, *values)))


def integers(name, *values):
    return (field(1, len(values)) + field(2, INT64) + field(8, name) +
            field(9, struct.pack("<%dq" % len(values), *values)))


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, one) for one in value) + field(20, 7)


def node(kind, inputs, outputs, name, domain="", **attributes):
    return (b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) +
            field(3, name) + field(4, kind) +
            b"".join(field(5, attribute(key, value)) for key, value in attributes.items()) +
            (field(7, domain) if domain else b""))


def value(name, kind, *shape):
    """A tensor's name, type and shape; a text in the shape is a symbol, None an unknown size."""
    dims = b"".join(field(1, field(1, size) if isinstance(size, int) else
                          field(2, size) if size else b"") for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def sequence(name):
    element = field(1, field(1, FLOAT))
    return field(1, name) + field(2, field(4, field(1, element)))


def model(name, nodes, weights, inputs, outputs, opset=13, domains=()):
    graph = (b"".join(field(1, one) for one in nodes) + field(2, name) +
             b"".join(field(5, one) for one in weights) +
             b"".join(field(11, one) for one in inputs) +
             b"".join(field(12, one) for one in outputs))
    return (field(1, 7) + field(2, "tests") + field(7, graph) + field(8, field(2, opset)) +
            b"".join(field(8, field(1, one) + field(2, 1)) for one in domains))


def cnn():
    """Convolutions and a classifier; batch, height and width are symbols."""
    w = Weights()
    nodes = [
        node("Conv", ["image", "w1", "b1"], ["c1"], "conv1", kernel_shape=[3, 3], pads=[1] * 4),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", kernel_shape=[3, 3], pads=[1] * 4,
             strides=[2, 2]),
        node("Relu", ["c2"], ["r2"], "relu2"),
        node("GlobalAveragePool", ["r2"], ["g"], "pool"),
        node("Flatten", ["g"], ["f"], "flatten"),
        node("Gemm", ["f", "w3", "b3"], ["l"], "dense"),
        node("Softmax", ["l"], ["probs"], "softmax", axis=1)]
    weights = [w.tensor("w1", 16, 3, 3, 3), w.tensor("b1", 16), w.tensor("w2", 32, 16, 3, 3),
               w.tensor("b2", 32), w.tensor("w3", 32, 10), w.tensor("b3", 10)]
    return model("cnn", nodes, weights, [value("image", FLOAT, "batch", 3, "height", "width")],
                 [value("probs", FLOAT, "batch", 10)])


def attention(width=64):
    """Embedding, one head of attention with a mask; two inputs that share their symbols."""
    w = Weights()
    nodes = [
        node("Gather", ["table", "input_ids"], ["e"], "embed", axis=0),
        node("Cast", ["attention_mask"], ["m"], "cast", to=FLOAT),
        node("Unsqueeze", ["m", "axis"], ["m2"], "unsqueeze"),
        node("Mul", ["e", "m2"], ["x"], "mask"),
        node("MatMul", ["x", "wq"], ["q"], "query"),
        node("MatMul", ["x", "wk"], ["k"], "key"),
        node("Transpose", ["k"], ["kt"], "transpose", perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["s"], "scores"),
        node("Softmax", ["s"], ["p"], "softmax", axis=2),
        node("MatMul", ["p", "x"], ["y"], "context"),
        node("MatMul", ["y", "wo"], ["logits"], "output")]
    weights = [w.tensor("table", 100, width), w.tensor("wq", width, width),
               w.tensor("wk", width, width), w.tensor("wo", width, 32), integers("axis", 2)]
    return model("attention", nodes, weights,
                 [value("input_ids", INT64, "batch", "seq"),
                  value("attention_mask", INT64, "batch", "seq")],
                 [value("logits", FLOAT, "batch", "seq", 32)])


def product(size=256):
    """Three inputs, and a time that depends neither on their values nor on memory."""
    nodes = [node("Gemm", ["a", "b", "c"], ["s"], "gemm"), node("Tanh", ["s"], ["y"], "tanh")]
    return model("product", nodes, [],
                 [value("a", FLOAT, size, size), value("b", FLOAT, size, size),
                  value("c", FLOAT, size)], [value("y", FLOAT, size, size)])


def several():
    """Three inputs of different types and fixed shapes."""
    nodes = [node("Add", ["a", "b"], ["s"], "add"), node("Where", ["c", "s", "a"], ["y"], "where")]
    return model("several", nodes, [],
                 [value("a", FLOAT, 64, 64), value("b", FLOAT, 64), value("c", BOOL, 64, 64)],
                 [value("y", FLOAT, 64, 64)])


def nameless():
    """A dimension that has neither a size nor a name."""
    return model("nameless", [node("Relu", ["x"], ["y"], "relu")], [],
                 [value("x", FLOAT, 2, None)], [value("y", FLOAT, 2, None)])


def small_table():
    """Indices over 9 are out of its range."""
    return model("small_table", [node("Gather", ["table", "ids"], ["y"], "embed", axis=0)],
                 [Weights().tensor("table", 10, 4)], [value("ids", INT64, "n")],
                 [value("y", FLOAT, "n", 4)])


def unknown_operator():
    return model("unknown", [node("Frobnicate", ["x"], ["y"], "frob")], [],
                 [value("x", FLOAT, 4)], [value("y", FLOAT, 4)])


def unknown_domain():
    return model("domain", [node("Custom", ["x"], ["y"], "custom", domain="com.example")], [],
                 [value("x", FLOAT, 4)], [value("y", FLOAT, 4)], domains=("com.example",))


def takes_sequence():
    return model("sequence", [node("ConcatFromSequence", ["xs"], ["y"], "concat", axis=0)], [],
                 [sequence("xs")], [value("y", FLOAT, "n")])


def save(data, path):
    with open(path, "wb") as file:
        file.write(data)
    return path


if __name__ == "__main__":
    for make in (cnn, attention, several, nameless, small_table, unknown_operator, unknown_domain,
                 takes_sequence):
        save(make(), os.path.join(sys.argv[1], make.__name__ + ".onnx"))
