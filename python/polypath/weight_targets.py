"""Where weights go: one device, several with the same, a device map, or the caller's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polypath.context_checks import named
from polypath.copy_checks import check_ends
from polypath.devices import CURRENT, gpu_of_device
from polypath.frameworks import PYTORCH, framework_of
from polypath.memory import UNTYPED, Memory
from polypath.messages import message
from polypath.process_context import process_context
from polypath.weight_files import Weight, torch_to_hold

ALL = "all"


@dataclass
class Target:
    """One set of tensors, new ones or the caller's."""

    tensors: dict[str, Any] = field(default_factory=dict)

    def take(self, weight: Weight) -> Any:
        """Return the memory that the weight is to be copied to; None if nothing is to be copied."""
        raise NotImplementedError


@dataclass
class NewTensors(Target):
    """Tensors of PyTorch, each with memory of its own; on the CPU they are the mapped file."""

    gpu_of: Callable[[str], int | None] = lambda _: None
    _made: dict[Any, Any] = field(default_factory=dict)

    def take(self, weight: Weight) -> Any:
        """Return a new tensor. Names that share one in the file share one here."""
        gpu = self.gpu_of(weight.name)
        made = self._made.get((weight.key, gpu))
        if made is not None:
            self.tensors[weight.name] = made
            return None
        tensor = _mapped(weight) if gpu is None else _empty(weight, gpu)
        self.tensors[weight.name] = self._made[weight.key, gpu] = tensor
        return None if gpu is None else tensor


@dataclass
class OwnMemory(Target):
    """The caller's memory by name."""

    def take(self, weight: Weight) -> Any:
        """Return what the caller has for it; nothing else of the file is read."""
        return self.tensors.get(weight.name)


def _empty(weight: Weight, gpu: int) -> Any:
    torch = torch_to_hold(f"tensor '{weight.name}'")
    return torch.empty(weight.shape, dtype=_type_of(torch, weight), device=f"cuda:{gpu}")


def _mapped(weight: Weight) -> Any:
    torch = torch_to_hold(f"tensor '{weight.name}'")
    if isinstance(weight.source, torch.Tensor):
        return weight.source
    kind = _type_of(torch, weight)
    if weight.nbytes == 0:
        return torch.empty(weight.shape, dtype=kind)
    return torch.frombuffer(weight.source, dtype=kind).reshape(weight.shape)


def _type_of(torch: Any, weight: Weight) -> Any:
    kind = getattr(torch, weight.element, None)
    if kind is not None:
        return kind
    raise ValueError(
        message(
            f"tensor '{weight.name}' cannot be loaded",
            f"this version of PyTorch has no {weight.element}",
            "Install a newer one.",
        )
    )


def new_targets(device: Any, weights: Iterable[Weight]) -> tuple[list[Target], bool]:
    """Return the sets of tensors to make, and whether the caller gets a list of them.

    ValueError for a device that there is not, and for a tensor that a device map leaves out.
    """
    torch_to_hold("a tensor")
    names = [weight.name for weight in weights]
    if isinstance(device, Mapping):
        return [NewTensors(gpu_of=_by_prefix(device, names))], False
    if device == ALL:
        device = list(range(_gpus()))
    if not isinstance(device, (list, tuple)):
        return [_on(device)], False
    if not device:
        raise ValueError(message("no device cannot be used", "tensors are on one", "Name some."))
    return [_on(each) for each in device], True


def _on(device: Any) -> Target:
    gpu = _usable(gpu_of_device(device))
    return NewTensors(gpu_of=lambda _: gpu)


def _gpus() -> int:
    process_context()
    return int(torch_to_hold("a tensor").cuda.device_count())


def _usable(gpu: int | None) -> int | None:
    """Return the GPU, by number. polypath.Error without a usable one, before PyTorch's own."""
    if gpu is None:
        return None
    process_context()
    return PYTORCH.current_gpu() if gpu == CURRENT else gpu


def _by_prefix(devices: Mapping[Any, Any], names: Iterable[str]) -> Callable[[str], int | None]:
    """Return what says a tensor's GPU: of the longest key that its name begins with, in parts."""
    known = {str(prefix): _usable(gpu_of_device(each)) for prefix, each in devices.items()}
    chosen = {}
    for name in names:
        parts = name.split(".")
        prefixes = (".".join(parts[:count]) for count in range(len(parts), -1, -1))
        prefix = next((each for each in prefixes if each in known), None)
        if prefix is None:
            raise ValueError(
                message(
                    f"tensor '{name}' cannot be loaded",
                    "the device map has no key that its name begins with",
                    "Add one; the key '' is of all others.",
                )
            )
        chosen[name] = known[prefix]
    return chosen.__getitem__


def own_memory(into: Any, weights: Iterable[Weight]) -> Target:
    """Return the caller's memory. ValueError for a name or a shape that is not in the files."""
    if not isinstance(into, Mapping):
        raise TypeError(
            message(
                f"into of type {type(into).__name__} cannot be used",
                "it is no dictionary of tensors by name",
                "Pass one, such as module.state_dict().",
            )
        )
    by_name = {weight.name: weight for weight in weights}
    if missing := [name for name in into if name not in by_name]:
        raise ValueError(
            message(
                f"tensor '{missing[0]}' cannot be loaded",
                f"the files do not have it, nor {len(missing) - 1} others"
                if missing[1:]
                else "the files do not have it",
                "Leave it out of 'into'.",
            )
        )
    for name, thing in into.items():
        with named(f"tensor '{name}'"):
            _check_memory(by_name[name], framework_of(thing).memory(thing))
    return OwnMemory(dict(into))


def _check_memory(weight: Weight, memory: Memory) -> None:
    source = framework_of(weight.source).memory(weight.source)
    check_ends(memory, source, bits=True)
    known = memory.item_size != UNTYPED
    is_alike = memory.element in ("", weight.element) and memory.shape in ((), weight.shape)
    if known and not is_alike:
        raise ValueError(
            message(
                f"{memory.element} of shape {memory.shape} cannot be loaded",
                f"the file has {weight.element} of shape {weight.shape}",
                "Pass memory of that kind.",
            )
        )
