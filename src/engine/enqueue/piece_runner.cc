#include "engine/enqueue/piece_runner.h"

#include <exception>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "engine/enqueue/failed_copy.h"

namespace polypath::engine {

PieceRunner::PieceRunner(const Machine& machine, Lanes& lanes, LoadedKernels& kernels,
                         TransferIds& ids, Preparer& preparer, KernelPreparer& kernel_preparer,
                         LaneRunner& runner, Enqueuer& enqueuer, LoadTracker& load,
                         CopyRecords& records)
    : machine_(machine),
      lanes_(lanes),
      kernels_(kernels),
      ids_(ids),
      preparer_(preparer),
      kernel_preparer_(kernel_preparer),
      runner_(runner),
      enqueuer_(enqueuer),
      load_(load),
      records_(records) {}

CopyResult PieceRunner::enqueue(SetDecision& many, std::size_t number) {
  Pieces& pieces = *many.pieces;
  try {
    if (!pieces.result) (void)enqueue_group(many);
  } catch (const Error& error) {
    records_.count_failed_piece(many.calls[number]);
    fail_to_copy(machine_, many.calls[number].bytes, many.members[number].ends, error);
  }
  if (pieces.result->means == Method::paths) {
    records_.count_piece(many.calls[number]);
    return *pieces.result;
  }
  const Decision decision{.call = many.calls[number],
                          .ends = many.members[number].ends,
                          .means = Method::native,
                          .obstacle = pieces.result->obstacle};
  return enqueuer_.enqueue(decision, NativeCopyBy::engine);
}

bool PieceRunner::enqueue_group(SetDecision& many) {
  Pieces& pieces = *many.pieces;
  const CopyCall& first = many.calls[pieces.set.members.front()];
  const FallbackReason obstacle = pieces.plan ? run(many) : FallbackReason::preparing;
  if (obstacle != FallbackReason::none) {
    pieces.result = CopyResult{.obstacle = obstacle};
    return false;
  }
  pieces.result =
      CopyResult{.executor = Executor::stream, .plan = pieces.plan, .means = Method::paths};
  records_.count_staged(*pieces.plan);
  load_.add(first.stream, pieces.plan, many.time, pieces.contention);
  return true;
}

// The resources are looked up by the recipe's plan, because that is the same the next time. A group
// may wait for room that earlier ones of its set have taken, as the rest of a single large one
// does.
FallbackReason PieceRunner::run(const SetDecision& many) {
  const Pieces& pieces = *many.pieces;
  const CopyCall& first = many.calls[pieces.set.members.front()];
  if (lanes_.any_held_beside(first.stream)) return FallbackReason::no_lane;
  Lane* lane = lanes_.lend(first.stream);
  if (lane == nullptr) return FallbackReason::no_lane;
  const bool by_kernels = pieces.recipe->issuer.has_value();
  const PlanPointer& needed = pieces.recipe->plan;
  const FallbackReason obstacle =
      by_kernels ? kernel_preparer_.provide(needed) : preparer_.provide(*lane, needed);
  if (obstacle != FallbackReason::none) return obstacle;
  if (!pieces.have_gone_by_paths && !lane->fits(pieces.plan->program))
    return FallbackReason::queue_full;
  const Transfer transfer{.program = &pieces.plan->program,
                          .structure = pieces.plan->structure,
                          .buffers = group_of(pieces.set, pieces.group).buffers,
                          .stream = first.stream,
                          .stream_gpu = first.stream_gpu,
                          .id = ids_.next(),
                          .kernels = kernels_.handles()};
  return by_kernels ? run_kernels(*lane, transfer)
                    : runner_.run_in(*lane, transfer, Executor::stream);
}

// Also of a launch that failed in the middle others may be in the stream.
FallbackReason PieceRunner::run_kernels(Lane& lane, const Transfer& transfer) {
  const bool in_callers = transfer.program->nodes_in(Program::kCallersQueue) > 0;
  if (in_callers &&
      !ignore_errors([&] { kernels_.expect_use(transfer.stream, transfer.stream_gpu); }))
    return FallbackReason::failed;
  FallbackReason met = FallbackReason::none;
  std::exception_ptr unsettled;
  try {
    met = runner_.run_in(lane, transfer, Executor::stream);
  } catch (const UnsettledError&) {
    unsettled = std::current_exception();
  }
  if (in_callers) kernels_.note_use(transfer.stream, transfer.stream_gpu);
  if (unsettled) std::rethrow_exception(unsettled);
  return met;
}

}  // namespace polypath::engine
