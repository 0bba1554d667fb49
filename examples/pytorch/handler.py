"""torch.profiler, with the answer printed when a trace is ready; no recorder is needed.

    python handler.py
"""
import torch
from torch.profiler import profile, schedule

import nlens


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with profile(schedule=schedule(wait=1, warmup=1, active=3), on_trace_ready=nlens.trace_handler("traces")) as profiler:
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.ones(32, 64)).mean().backward()
            optimizer.step()
            profiler.step()


if __name__ == "__main__":
    main()
