"""Calls of collectives as the extension module runs them, made of tensors that were checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from polypath._core import Buffer, CollectiveRank, Context, PersistentCall, TensorCalls
from polypath.collective_checks import Call, Member, arguments_of, message_arguments
from polypath.frameworks import framework_of
from polypath.memory import Elements, Framework
from polypath.streams import GpuStream, stream_of_rank

MOST_KNOWN = 4096  # calls that need no second check

# The fields of a Call: tuples are made in less time.
What = tuple[str, Any, int, Any, tuple[int, ...]]


class Calls:
    """One rank's calls, with what is known of those that were checked.

    Those of PyTorch's tensors on its current stream are what programs call again and again: they
    are found and run by the extension module.
    """

    def __init__(self, rank: CollectiveRank, context: Context) -> None:
        """Use the rank's machine."""
        self._rank, self._context = rank, context
        self._gpu = int(rank.gpu[3:])
        self._member = Member(rank.rank, rank.size, self._gpu)
        self._of_tensors: TensorCalls | None = None
        self._asked_for_those: set[Framework] = set()
        self._known: dict[Hashable, PersistentCall] = {}
        self._own_stream: Any = None

    def run(self, what: What, tensor: Any, output: Any, stream: Any) -> None:
        """Do it. What has been checked once is not checked again; errors as Collectives says."""
        of_tensors = self._of_tensors
        if of_tensors is not None and stream is None and of_tensors.run(what, tensor, output):
            return
        framework, target, into = framework_of(tensor), None, tensor
        given, taken = framework.known_by(tensor, what[3]), None
        if output is not None:
            target, into = framework_of(output), output
            taken = target.known_by(output, what[3])
        key = (what, given, taken)
        call = self._known.get(key)
        if call is None:
            call = _checked_call(Call(*what), tensor, output, self._member)
            self._keep(key, call)
        ends = ((framework, tensor),) if target is None else ((framework, tensor), (target, output))
        self._enqueue(call, ends, into, stream)
        if stream is None:
            self._keep_of_tensors(framework, what, tensor, output, call)

    def send(self, tensor: Any, source: int, destination: int, dtype: Any, stream: Any) -> None:
        """Give one rank's tensor to another rank; the same errors."""
        framework = framework_of(tensor)
        key = (source, destination, dtype, framework.known_by(tensor, dtype))
        call = self._known.get(key)
        if call is None:
            call = _checked_message(source, destination, tensor, dtype, self._member)
            self._keep(key, call)
        into = tensor if self._member.rank == destination else None
        self._enqueue(call, ((framework, tensor),), into, stream)

    def barrier(self, stream: Any) -> None:
        """Let the stream wait for those of all ranks; None: wait until all have called this."""
        if stream is not None:
            self._rank.barrier(self._named(stream).handle)
        elif self._context.simulated:
            self._rank.await_messages()  # a simulated stream ends only if nothing is to come yet
        else:
            self._rank.barrier()

    def synchronize(self) -> None:
        """Wait until all calls are done. A simulated stream ends only if nothing is to come."""
        if self._context.simulated:
            self._rank.await_messages()
        self._rank.synchronize()

    def _enqueue(
        self, call: PersistentCall, ends: tuple[tuple[Framework, Any], ...], into: Any, stream: Any
    ) -> None:
        (framework, tensor), (target, written) = ends[0], ends[-1]
        if stream is None and isinstance(written, Buffer):
            self._run_and_wait(call)
            return
        handle = framework.current_handle(tensor, self._gpu) if stream is None else (
            self._named(stream).handle
        )  # fmt: skip
        self._rank.run(call, handle)
        if into is not None:
            target.note_write(into)
        if stream is not None:
            self._note_use(stream, ends)

    def _keep(self, key: Hashable, call: PersistentCall) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = call

    def _keep_of_tensors(
        self, framework: Framework, what: What, tensor: Any, output: Any, call: PersistentCall
    ) -> None:
        if framework not in self._asked_for_those:
            self._asked_for_those.add(framework)
            self._of_tensors = self._of_tensors or framework.tensor_calls(self._rank, self._gpu)
        if self._of_tensors is not None:
            self._of_tensors.keep(what, tensor, output, call)

    def _named(self, stream: Any) -> GpuStream:
        return stream_of_rank(stream, self._gpu)

    def _run_and_wait(self, call: PersistentCall) -> None:
        """Use a stream of our own. A simulated one ends only if all ranks have enqueued theirs."""
        if self._own_stream is None:
            self._own_stream = self._context.stream(f"gpu{self._gpu}")
        self._rank.run(call, self._own_stream)
        if self._context.simulated:
            self.barrier(None)
        self._rank.finish_call(self._own_stream)

    def _note_use(self, stream: Any, ends: Iterable[tuple[Framework, Any]]) -> None:
        for framework, thing in ends:
            framework.note_use(framework.memory(thing), self._named(stream))


def _checked_call(call: Call, tensor: Any, output: Any, of: Member) -> PersistentCall:
    given = _checked_elements(tensor, call.dtype)
    taken = None if output is None else _checked_elements(output, call.dtype)
    return PersistentCall(*arguments_of(call, given, taken, of))


def _checked_message(
    source: int, destination: int, tensor: Any, dtype: Any, of: Member
) -> PersistentCall:
    elements = _checked_elements(tensor, dtype)
    return PersistentCall(*message_arguments(source, destination, elements, dtype, of))


def _checked_elements(tensor: Any, dtype: Any) -> Elements:
    framework = framework_of(tensor)
    elements = framework.elements(tensor, dtype)
    framework.check_gradient(tensor)
    return elements
