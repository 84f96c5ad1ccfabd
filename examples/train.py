#!/usr/bin/env python3
"""Train a small language model on several GPUs; knows nothing of Polypath.

    torchrun --nproc-per-node 2 examples/train.py
    polypath run --report report.json -- torchrun --nproc-per-node 2 examples/train.py

The gradients are averaged by PyTorch's DistributedDataParallel, or by FSDP2 (--strategy fsdp), both
of which call NCCL. Rank 0 prints the median time of a step and the last loss: with Polypath the
loss has the same bits as without, as long as two GPUs train.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WORDS = 8192


class Block(nn.Module):
    """Attention and a perceptron, each added to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.asked = nn.Linear(width, 3 * width, bias=False)
        self.given = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return batch x length x width."""
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        parts = self.asked(self.first(x)).chunk(3, dim=-1)
        query, key, value = (part.view(shape).transpose(1, 2) for part in parts)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.given(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Model(nn.Module):
    """A decoder."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.last = nn.Linear(width, WORDS, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the loss of predicting each word from those before it."""
        x = self.words(words[:, :-1])
        for block in self.blocks:
            x = block(x)
        return nn.functional.cross_entropy(
            self.last(x).flatten(0, 1).float(), words[:, 1:].flatten()
        )


def main() -> None:
    """Train, and print how that went."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--strategy", choices=["ddp", "fsdp"], default="ddp")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=int, default=4, help="sequences of a rank")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    model = Model(options.width, options.layers).to(device, torch.bfloat16)
    if options.strategy == "ddp":
        trained: nn.Module = DistributedDataParallel(model, device_ids=[device.index])
    else:
        for block in model.blocks:
            fully_shard(block)
        trained = fully_shard(model)
    optimiser = torch.optim.SGD(trained.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    shape = (options.batch, options.length + 1)
    seconds = []
    for _ in range(options.steps):
        words = torch.randint(WORDS, shape, device=device)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        loss = trained(words)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    if dist.get_rank() == 0:
        step = statistics.median(seconds[len(seconds) // 3 :])
        print(f"step {step * 1e3:.2f} ms, loss {loss.item():.7f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
