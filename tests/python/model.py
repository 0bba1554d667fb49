"""A small model with PyTorch: model.py train | count | shapes | compile | workers | own | distributed."""
import collections
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Decoder()
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.model(x))


def train(model, data, optimizer):
    for (x,) in data:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()


def count(model, data, optimizer):
    """Operators as torch.profiler sees them, of the same calls that are recorded."""
    import nlens
    train(model, data, optimizer)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        nlens.start()
        train(model, data, optimizer)
        nlens.stop()
    events = collections.Counter(event.name() for event in profile.profiler.kineto_results.events())
    for name, number in sorted(events.items()):
        print("%d\t%s" % (number, name))


def shapes(model, data, optimizer):
    """The same with the shapes of inputs, as JSON; operators without any are left out."""
    import json
    import nlens
    train(model, data, optimizer)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        nlens.start()
        train(model, data, optimizer)
        nlens.stop()
    found = collections.Counter((event.name(), json.dumps(event.shapes())) for event in
                                profile.profiler.kineto_results.events() if any(event.shapes()))
    for (name, sizes), number in sorted(found.items()):
        print("%d\t%s\t%s" % (number, name, sizes))


def distributed(model, data, optimizer):
    """Gradients averaged over the processes of torchrun."""
    torch.distributed.init_process_group("gloo")
    train(torch.nn.parallel.DistributedDataParallel(model), data, optimizer)
    torch.distributed.destroy_process_group()


def compiled(model, data, optimizer):
    import torch._dynamo
    fast = torch.compile(model, backend="eager")
    for (x,) in data:
        fast(x)
    print(sum(torch._dynamo.utils.counters["graph_break"].values()))


def workers(model, data, optimizer):
    data = torch.utils.data.DataLoader(data.dataset, batch_size=8, num_workers=2)
    train(model, data, optimizer)


def own(model, data, optimizer):
    """The program's own steps, from 100 on."""
    import nlens
    for index, (x,) in enumerate(data):
        with nlens.step(100 + index):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40, 16)), batch_size=8)
    model = LM()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    {"train": train, "count": count, "shapes": shapes, "compile": compiled, "workers": workers, "own": own,
     "distributed": distributed}[sys.argv[1]](model, data, optimizer)


main()
