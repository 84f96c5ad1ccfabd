#!/usr/bin/env python3
"""Decode with a language model whose layers are divided among GPUs; knows nothing of Polypath.

    polypath run -- torchrun --nproc-per-node 2 examples/decode.py --batch 1

Each layer ends with two sums over all ranks (tensor parallel), and a step is one CUDA Graph, as
servers have it. Weights are random. Rank 0 prints the time of a step.
"""

from __future__ import annotations

import argparse
import os
import statistics

import torch
import torch.distributed as dist

LENGTH = 512  # words that are kept of each sequence


class Layer:
    """One rank's part of a layer of a Llama-like model."""

    def __init__(self, width: int, batch: int, device: torch.device) -> None:
        ranks = dist.get_world_size()
        self.heads = width // 128 // ranks
        make = {"device": device, "dtype": torch.bfloat16}
        own = self.heads * 128
        inner = width * 7 // 2 // ranks
        self.asked = torch.randn(width, 3 * own, **make) / width**0.5
        self.given = torch.randn(own, width, **make) / width**0.5
        self.up = torch.randn(width, 2 * inner, **make) / width**0.5
        self.down = torch.randn(inner, width, **make) / inner**0.5
        self.kept = torch.randn(2, batch, self.heads, LENGTH, 128, **make)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        """Return batch x width for the next layer."""
        query = (x @ self.asked).chunk(3, dim=-1)[0].view(len(x), self.heads, 1, 128)
        mixed = torch.nn.functional.scaled_dot_product_attention(query, self.kept[0], self.kept[1])
        part = mixed.reshape(len(x), -1) @ self.given
        dist.all_reduce(part)
        x = torch.nn.functional.rms_norm(x + part, x.shape[1:])
        gate, up = (x @ self.up).chunk(2, dim=-1)
        part = (torch.nn.functional.silu(gate) * up) @ self.down
        dist.all_reduce(part)
        return torch.nn.functional.rms_norm(x + part, x.shape[1:])


def main() -> None:
    """Time a step."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    layers = [Layer(options.width, options.batch, device) for _ in range(options.layers)]
    given = torch.randn(options.batch, options.width, device=device, dtype=torch.bfloat16)

    def step() -> torch.Tensor:
        x = given
        for layer in layers:
            x = layer.step(x)
        return x

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()
    taken = []
    for _ in range(options.steps):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end))
    if dist.get_rank() == 0:
        print(f"step {statistics.median(taken):.3f} ms, sum {result.float().sum().item():.6f}")
    del graph  # it uses the process group
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
