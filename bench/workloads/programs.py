"""The ten workloads of bench/overhead.py but the C++ one: programs.py NAME.

Says "ready" when it can begin; then does one piece of work for each line of its standard input and
answers with the nanoseconds it took. A piece is some ten milliseconds of what such programs do all day.
Nothing here knows of neurolens.
"""
import os
import sys
import time


# ---- PyTorch ----

def one_thread():
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return torch


def conv(torch, inputs, outputs, size, stride=1):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


def small_cnn():
    """LeNet on 16 images of 28 × 28, trained: what a class does in its first hour."""
    torch = one_thread()
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                          nn.Linear(84, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))

    def piece():
        for _ in range(20):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    return piece


def large_cnn():
    """ResNet-50 on one image of 224 × 224."""
    torch = one_thread()
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            self.body = nn.Sequential(conv(torch, inputs, width, 1), conv(torch, width, width, 3, stride),
                                      nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
            same = stride == 1 and inputs == 4 * width
            self.skip = nn.Identity() if same else nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                                                 nn.BatchNorm2d(4 * width))

        def forward(self, x):
            return torch.relu(self.body(x) + self.skip(x))

    blocks, inputs = [], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(count):
            blocks.append(Bottleneck(inputs, width, stride if number == 0 else 1))
            inputs = 4 * width
    model = nn.Sequential(conv(torch, 3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(2048, 1000)).eval()
    image = torch.randn(1, 3, 224, 224)

    def piece():
        with torch.inference_mode():
            model(image)
    return piece


def transformer(torch, layers=6, width=512, heads=8):
    """A decoder with rotary-free attention and a cache of keys and values, as small language models are."""
    nn = torch.nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, cache):
            batch, count, _ = x.shape
            q, k, v = self.qkv(x).view(batch, count, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=count > 1)
            return self.out(y.transpose(1, 2).reshape(batch, count, width)), (k, v)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention()
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x, cache):
            y, cache = self.attention(self.norm1(x), cache)
            x = x + y
            return x + self.mlp(self.norm2(x)), cache

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(8000, width), nn.Linear(width, 8000, bias=False)
            self.layers = nn.ModuleList([Block() for _ in range(layers)])

        def forward(self, tokens, caches):
            x, kept = self.embed(tokens), []
            for layer, cache in zip(self.layers, caches):
                x, cache = layer(x, cache)
                kept.append(cache)
            return self.head(x[:, -1:]), kept

    return Decoder().eval(), [None] * layers


def prefill():
    """A prompt of 256 tokens."""
    torch = one_thread()
    model, empty = transformer(torch)
    tokens = torch.randint(0, 8000, (1, 256))

    def piece():
        with torch.inference_mode():
            model(tokens, empty)
    return piece


def token_loop():
    """16 tokens, one after another, behind a prompt of 64."""
    torch = one_thread()
    model, empty = transformer(torch)
    with torch.inference_mode():
        _, prompt = model(torch.randint(0, 8000, (1, 64)), empty)

    def piece():
        with torch.inference_mode():
            token, caches = torch.tensor([[1]]), prompt
            for _ in range(16):
                logits, caches = model(token, caches)
                token = logits.argmax(-1)
    return piece


def data_loader():
    """A convolution trained on images that two worker processes cut, turn and normalise."""
    torch = one_thread()
    import numpy
    nn = torch.nn
    source = numpy.random.default_rng(0).integers(0, 255, (64, 40, 40, 3), dtype=numpy.uint8)

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 512

        def __getitem__(self, number):
            chance = numpy.random.default_rng(number)
            top, left = chance.integers(0, 8, 2)
            image = source[number % len(source)][top:top + 32, left:left + 32]
            image = image[:, ::-1] if chance.random() < 0.5 else image
            image = (image.astype(numpy.float32) / 255 - 0.5) / 0.25
            image += chance.normal(0, 0.05, image.shape).astype(numpy.float32)
            return torch.from_numpy(image.transpose(2, 0, 1).copy()), number % 10

    torch.multiprocessing.set_sharing_strategy("file_system")
    loader = torch.utils.data.DataLoader(Images(), batch_size=32, num_workers=2, persistent_workers=True)
    model = nn.Sequential(conv(torch, 3, 16, 3), nn.MaxPool2d(2), conv(torch, 16, 32, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def piece():
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    return piece


# ---- without PyTorch ----

def trees():
    """Gradient boosted trees: 20 fitted on 1,500 rows of 20 columns, and asked."""
    import numpy
    from sklearn.ensemble import GradientBoostingRegressor
    chance = numpy.random.default_rng(0)
    x = chance.normal(size=(1500, 20))
    y = x[:, 0] * x[:, 1] + numpy.sin(x[:, 2]) + chance.normal(0, 0.1, len(x))

    def piece():
        GradientBoostingRegressor(n_estimators=20, max_depth=3, random_state=0).fit(x, y).predict(x)
    return piece


def arrays():
    """NumPy: least squares, FFT, sorting, histograms, and element by element on small and large arrays."""
    import numpy
    chance = numpy.random.default_rng(0)
    a, b, signal = chance.normal(size=(400, 80)), chance.normal(size=400), chance.normal(size=1 << 15)
    small = chance.normal(size=64)

    def piece():
        numpy.linalg.lstsq(a, b, rcond=None)
        numpy.fft.irfft(numpy.fft.rfft(signal) * 2)
        numpy.histogram(numpy.sort(signal), 100)
        numpy.exp(signal).cumsum()
        total = 0.0
        for _ in range(1000):
            total += float((small * 2 + 1).sum())
        return total
    return piece


def server():
    """An asyncio server that answers JSON over a Unix socket to eight clients, 400 requests a piece."""
    import asyncio
    import json
    import tempfile
    import zlib
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "socket")
    loop = asyncio.new_event_loop()
    page = {"items": [{"id": number, "name": "item %d" % number, "price": number / 7} for number in range(40)]}

    async def serve(reader, writer):
        while line := await reader.readline():
            asked = json.loads(line)
            answer = json.dumps(dict(page, echo=asked, sum=zlib.crc32(line)), sort_keys=True).encode()
            writer.write(b"%d\n" % len(answer) + answer)
            await writer.drain()
        writer.close()

    async def client(number):
        reader, writer = await asyncio.open_unix_connection(path)
        for request in range(50):
            writer.write(json.dumps({"client": number, "request": request}).encode() + b"\n")
            size = int(await reader.readline())
            assert len(json.loads(await reader.readexactly(size))["items"]) == 40
        writer.close()
        await writer.wait_closed()

    async def clients():
        await asyncio.gather(*[client(number) for number in range(8)])

    loop.run_until_complete(asyncio.start_unix_server(serve, path))

    def piece():
        loop.run_until_complete(clients())
    piece.folder = folder
    return piece


def onnx():
    """The convolutional network of tests/onnxmodel.py under ONNX Runtime, a thousand times."""
    import numpy
    import onnxruntime
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests"))
    from onnxmodel import cnn
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(cnn(), options, providers=["CPUExecutionProvider"])
    inputs = {one.name: numpy.ones([size if isinstance(size, int) else 1 for size in one.shape], numpy.float32)
              for one in session.get_inputs()}

    def piece():
        for _ in range(1000):
            session.run(None, inputs)
    return piece


PROGRAMS = {"small_cnn": small_cnn, "large_cnn": large_cnn, "prefill": prefill, "token_loop": token_loop, "trees": trees,
            "arrays": arrays, "data_loader": data_loader, "server": server, "onnx": onnx}


def main():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    piece = PROGRAMS[sys.argv[1]]()
    for _ in range(3):
        piece()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.monotonic_ns()
        piece()
        print(time.monotonic_ns() - began, flush=True)


if __name__ == "__main__":
    main()
