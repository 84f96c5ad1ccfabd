#!/usr/bin/env python3
"""Train an image model whose gradients MPI averages on the GPUs; knows nothing of Polypath.

    polypath run -- mpirun -n 2 python examples/mpi_train.py --model vgg16

Gradients lie side by side in buckets of 25 MiB. A bucket's MPI_Iallreduce begins as soon as its
gradients are there, while those of earlier layers are still computed. For comparison:

    mpirun -n 2 python examples/mpi_train.py --by staged    # buckets are copied to the host
    mpirun -n 2 python examples/mpi_train.py --by ddp       # PyTorch's DDP, by NCCL

Gradients come from the default stream, behind which Polypath puts MPI's calls; an MPI that takes
memory of GPUs itself wants the stream to be waited for first (--wait). Rank 0 prints the median
time of a step and the last loss. Needs PyTorch and mpi4py.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BUCKET = 25 << 20  # bytes
CLASSES = 1000
VGG16 = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: pool
RESNET50 = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride


def vgg16() -> nn.Module:
    """Return the model of Simonyan and Zisserman."""
    layers: list[nn.Module] = []
    inputs = 3
    for width in VGG16:
        if width == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(inplace=True)]
        inputs = width
    sizes = (512 * 7 * 7, 4096, 4096)
    for given, taken in zip(sizes, sizes[1:]):
        layers += [nn.Flatten(), nn.Linear(given, taken), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(4096, CLASSES))


class Bottleneck(nn.Module):
    """Three convolutions, added to what comes in."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *convolution(inputs, width, 1), nn.ReLU(inplace=True),
            *convolution(width, width, 3, stride), nn.ReLU(inplace=True),
            *convolution(width, 4 * width, 1),
        )  # fmt: skip
        same = stride == 1 and inputs == 4 * width
        self.beside = nn.Sequential(*([] if same else convolution(inputs, 4 * width, 1, stride)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many channels as four times the width."""
        return torch.relu(self.body(x) + self.beside(x))


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> list[nn.Module]:
    """Return a convolution and its normalisation."""
    made = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)
    return [made, nn.BatchNorm2d(outputs)]


def resnet50() -> nn.Module:
    """Return the model of He, Zhang, Ren and Sun."""
    layers = [*convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
    inputs = 64
    for width, blocks, stride in RESNET50:
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, CLASSES))


class Bucket:
    """Gradients side by side in one memory."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        sizes = [parameter.numel() for parameter in parameters]
        self.all = torch.zeros(sum(sizes), device=parameters[0].device)
        for parameter, part in zip(parameters, self.all.split(sizes)):
            parameter.grad = part.view_as(parameter)
        self.missing = len(parameters)


class Averaged:
    """A model whose gradients are summed over the ranks during the backward pass.

    Losses are divided by the number of ranks before, so that the sum is the mean.
    """

    def __init__(self, model: nn.Module, comm: MPI.Comm, wait: bool) -> None:
        self.comm, self.wait = comm, wait
        self.buckets: list[Bucket] = []
        self.next = 0  # the bucket whose call is made next: all ranks have one order
        self.requests: list[MPI.Request] = []
        self.broadcast(model)
        self._fill(list(reversed(list(model.parameters()))))

    def broadcast(self, model: nn.Module) -> None:
        """Give all ranks the values of rank 0."""
        for parameter in model.parameters():
            self.comm.Bcast(parameter.data, root=0)

    def _fill(self, parameters: list[nn.Parameter]) -> None:
        """Make buckets, in about the order in which gradients come."""
        some: list[nn.Parameter] = []
        for parameter in parameters:
            some.append(parameter)
            if 4 * sum(each.numel() for each in some) >= BUCKET or parameter is parameters[-1]:
                bucket = Bucket(some)
                self.buckets.append(bucket)
                for each in some:
                    each.register_post_accumulate_grad_hook(lambda _, of=bucket: self._note(of))
                some = []

    def _note(self, bucket: Bucket) -> None:
        """Begin calls whose buckets are complete."""
        bucket.missing -= 1
        while self.next < len(self.buckets) and self.buckets[self.next].missing == 0:
            self.begin(self.buckets[self.next])
            self.next += 1

    def begin(self, bucket: Bucket) -> None:
        """Begin the sum over all ranks."""
        if self.wait:
            torch.cuda.current_stream().synchronize()
        self.requests.append(self.comm.Iallreduce(MPI.IN_PLACE, bucket.all))

    def finish(self) -> None:
        """Wait for all sums."""
        MPI.Request.Waitall(self.requests)
        self.start_over()

    def start_over(self) -> None:
        """Prepare for the next step."""
        self.requests, self.next = [], 0
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters)

    def clear(self) -> None:
        """Set gradients to zero; they stay where they are."""
        for bucket in self.buckets:
            bucket.all.zero_()


class Staged(Averaged):
    """The same with copies in pinned memory, as for an MPI that takes none of GPUs."""

    def __init__(self, model: nn.Module, comm: MPI.Comm, wait: bool) -> None:
        self.copies: list[tuple[Bucket, torch.Tensor, torch.cuda.Event]] = []
        self.pinned: dict[Bucket, torch.Tensor] = {}
        self.stream = torch.cuda.Stream()
        super().__init__(model, comm, wait)

    def broadcast(self, model: nn.Module) -> None:
        """Give all ranks the values of rank 0."""
        for parameter in model.parameters():
            values = parameter.data.cpu()
            self.comm.Bcast(values.numpy(), root=0)
            parameter.data.copy_(values)

    def begin(self, bucket: Bucket) -> None:
        """Copy to the host, beside what is still computed."""
        if bucket not in self.pinned:
            self.pinned[bucket] = torch.empty(bucket.all.numel(), pin_memory=True)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            copy = self.pinned[bucket].copy_(bucket.all, non_blocking=True)
            self.copies.append((bucket, copy, self.stream.record_event()))

    def finish(self) -> None:
        """Sum each copy once it is there, and copy it back once it is summed."""
        for _, copy, there in self.copies:
            there.synchronize()
            self.requests.append(self.comm.Iallreduce(MPI.IN_PLACE, copy.numpy()))
        for request, (bucket, copy, _) in zip(self.requests, self.copies):
            request.Wait()
            bucket.all.copy_(copy, non_blocking=True)
        self.copies = []
        self.start_over()


def options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", choices=["vgg16", "resnet50"], default="resnet50")
    parser.add_argument("--by", choices=["mpi", "staged", "ddp"], default="mpi")
    parser.add_argument("--batch", type=int, default=64, help="images of a rank")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--wait", action="store_true", help="for the GPU before each call of MPI")
    return parser.parse_args()


def main() -> None:
    """Train, and print how that went."""
    chosen, comm = options(), MPI.COMM_WORLD
    local = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    model = {"vgg16": vgg16, "resnet50": resnet50}[chosen.model]().to(device)
    averaged: Any = None
    trained: nn.Module = model
    if chosen.by == "ddp":
        trained = in_ddp(model, comm, device)
    else:
        averaged = (Averaged if chosen.by == "mpi" else Staged)(model, comm, chosen.wait)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.001)
    torch.manual_seed(1 + comm.Get_rank())
    images = torch.randn(chosen.batch, 3, 224, 224, device=device)
    labels = torch.randint(CLASSES, (chosen.batch,), device=device)
    seconds = []
    for _ in range(chosen.steps):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        loss = nn.functional.cross_entropy(trained(images), labels)
        if averaged is None:
            loss.backward()
        else:
            (loss / comm.Get_size()).backward()
            averaged.finish()
        optimiser.step()
        optimiser.zero_grad() if averaged is None else averaged.clear()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    if comm.Get_rank() == 0:
        step = statistics.median(seconds[len(seconds) // 3 :])
        print(f"step {step * 1e3:.2f} ms, loss {loss.item():.7f}")
    if averaged is None:
        dist.destroy_process_group()


def in_ddp(model: nn.Module, comm: MPI.Comm, device: torch.device) -> nn.Module:
    """Return the model under PyTorch's own averaging."""
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    dist.init_process_group("nccl", rank=comm.Get_rank(), world_size=comm.Get_size(),
                            device_id=device)  # fmt: skip
    return DistributedDataParallel(model, device_ids=[device.index], gradient_as_bucket_view=True)


if __name__ == "__main__":
    main()
