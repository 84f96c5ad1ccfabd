// Many small copies of a set as one stream of bytes: see engine/call/piece_set.h.

#include <exception>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "engine/engine_many.h"

namespace polypath {
namespace {

// Of sets that are too small for a plan of copies. So many gain 1.4 to 2.1 by kernels on H200s, 4
// gain nothing, and to find that out costs 3 us of the 15 that they take
// (results/h200x2/many.json).
constexpr std::size_t kFewestForKernels = 12;

}  // namespace

// A graph would need new addresses for each copy each time, which costs half as much again as to
// issue it.
bool Engine::may_be_piece(const SetMember& member) const {
  const CopyCall& call = member.call;
  const std::optional<Executor> choice = choice_of(call.options);
  return call.bytes >= kSmallestPiece && call.bytes <= settings_.staging_slot &&
         !call.options.asks_for_paths() && !call.cautious &&
         (!choice || choice == Executor::stream);
}

// True if the set has pieces that are planned, or will be: nothing else of it is. A recipe knows
// nothing of what else is in flight.
bool Engine::arrange_pieces(Many& many) {
  auto set = find_pieces(many.members, settings_.staging_slot);
  if (!set || set->bytes < settings_.min_message.value_or(Bytes{})) return false;
  if (set->sizes.size() < kFewestForKernels && set->bytes < kAlwaysPlanned) return false;
  const SetMember& first = many.members[set->members.front()];
  many.time = driver_.now();
  const TransferRequest asked{first.call.stream, first.ends.source, first.ends.destination,
                              set->bytes};
  const Contention contention = load_->contention_of(asked, many.time);
  if (!contention.load.empty() || contention.both_ways != BothWays::no) return false;
  Pieces pieces{.set = *std::move(set), .recipe = nullptr, .contention = contention};
  pieces.recipe = recipe_for(many, pieces.set);
  if (pieces.recipe) {
    if (pieces.recipe->plan->executor() == Executor::native) return false;
    if (depend_on_each_other(many.members)) return false;
    pieces.plan = plan_of(machine_, *pieces.recipe, pieces.set.sizes, settings_.staging_slots);
    if (load_->lacks_room(*pieces.plan, contention.foreign_load)) return false;
  }
  many.pieces = std::move(pieces);
  many.set.parts.resize(many.calls.size());
  return true;
}

// By kernels where they may be used, else by copies; those of small sets are not worth a plan.
PieceRecipePointer Engine::recipe_for(const Many& many, const PieceSet& set) {
  const SetMember& first = many.members[set.members.front()];
  PieceRequest request = piece_request(first.ends.source, first.ends.destination, set.sizes.size(),
                                       set.bytes, set.members.size());
  request.left_out = left_out_for(first.call, first.ends);
  request.plan_copies = set.bytes >= settings_.min_message.value_or(kAlwaysPlanned);
  request.batched = many.batched;
  if (settings_.piece_kernels && !many.batched) request.issuer = first.call.stream_gpu;
  PieceRecipePointer recipe = recipe_for(request);
  if (!recipe || !recipe->issuer || kernels_may(*recipe, set, many.members)) return recipe;
  request.issuer.reset();
  return recipe_for(request);
}

PieceRecipePointer Engine::recipe_for(const PieceRequest& request) {
  return background_ ? plans_.find(request, *background_) : plans_.make(request);
}

bool Engine::may_take_batch(const CopyCall& like, const CopyEnds& ends, std::size_t copies,
                            Bytes bytes) {
  if (copies < kFewestPieces || ends.source == ends.destination) return false;
  PieceRequest request = piece_request(ends.source, ends.destination, copies, bytes, copies);
  const std::scoped_lock lock(mutex_);
  if (bytes < settings_.min_message.value_or(kAlwaysPlanned)) return false;
  if (choice_of(like.options) == Executor::native) return false;
  request.left_out = left_out_for(like, ends);
  request.batched = true;
  const PieceRecipePointer recipe = recipe_for(request);
  return recipe && recipe->plan->executor() != Executor::native;
}

bool Engine::take_batch(std::span<const CopyCall> calls) {
  check_process();
  Many many{.calls = calls, .batched = true};
  const std::scoped_lock lock(mutex_);
  examine_all(many);
  if (!arrange_pieces(many) || many.pieces->set.members.size() != calls.size()) return false;
  lanes_.start_set();
  enqueue_pieces(many);
  if (many.pieces->result->means != Method::paths) return false;
  for (const CopyCall& call : calls) count_asked(call);
  statistics_.streams += calls.size();
  return true;
}

// All of them in the place of the first; where that does not work, each by itself in its own.
CopyResult Engine::enqueue_piece(Many& many, std::size_t number) {
  Pieces& pieces = *many.pieces;
  try {
    if (!pieces.result) enqueue_pieces(many);
  } catch (const Error&) {
    count_asked(many.calls[number]);
    ++statistics_.errors;
    throw;
  }
  if (pieces.result->means == Method::paths) {
    count_asked(many.calls[number]);
    ++statistics_.streams;
    return *pieces.result;
  }
  const Decision decision{.call = many.calls[number],
                          .ends = many.members[number].ends,
                          .means = Method::native,
                          .obstacle = pieces.result->obstacle};
  return enqueue_locked(decision, NativeCopyBy::engine);
}

void Engine::enqueue_pieces(Many& many) {
  Pieces& pieces = *many.pieces;
  const CopyCall& first = many.calls[pieces.set.members.front()];
  const FallbackReason obstacle = pieces.plan ? run_pieces(many) : FallbackReason::preparing;
  if (obstacle != FallbackReason::none) {
    pieces.result = CopyResult{.obstacle = obstacle};
    return;
  }
  pieces.result =
      CopyResult{.executor = Executor::stream, .plan = pieces.plan, .means = Method::paths};
  count_staged(*pieces.plan);
  load_->add(first.stream, pieces.plan, many.time, pieces.contention);
}

// The resources are looked up by the recipe's plan, because that is the same the next time.
FallbackReason Engine::run_pieces(const Many& many) {
  const Pieces& pieces = *many.pieces;
  const CopyCall& first = many.calls[pieces.set.members.front()];
  if (lanes_.any_held_beside(first.stream)) return FallbackReason::no_lane;
  Lane* lane = lanes_.lend(first.stream);
  if (lane == nullptr) return FallbackReason::no_lane;
  const bool by_kernels = pieces.recipe->issuer.has_value();
  const FallbackReason obstacle =
      by_kernels ? provide_kernels(pieces.recipe->plan) : provide(*lane, pieces.recipe->plan);
  if (obstacle != FallbackReason::none) return obstacle;
  if (!lane->fits(pieces.plan->program)) return FallbackReason::queue_full;
  const Transfer transfer{.program = &pieces.plan->program,
                          .structure = pieces.plan->structure,
                          .buffers = pieces.set.buffers,
                          .stream = first.stream,
                          .stream_gpu = first.stream_gpu,
                          .id = next_transfer_++,
                          .kernels = kernels_.handles()};
  return by_kernels ? run_kernels(*lane, transfer) : run_in(*lane, transfer, Executor::stream);
}

// Also of a launch that failed in the middle others may be in the stream.
FallbackReason Engine::run_kernels(Lane& lane, const Transfer& transfer) {
  const bool in_callers = transfer.program->nodes_in(Program::kCallersQueue) > 0;
  if (in_callers &&
      !ignore_errors([&] { kernels_.expect_use(transfer.stream, transfer.stream_gpu); }))
    return FallbackReason::failed;
  FallbackReason met = FallbackReason::none;
  std::exception_ptr unsettled;
  try {
    met = run_in(lane, transfer, Executor::stream);
  } catch (const UnsettledError&) {
    unsettled = std::current_exception();
  }
  if (in_callers) kernels_.note_use(transfer.stream, transfer.stream_gpu);
  if (unsettled) std::rethrow_exception(unsettled);
  return met;
}

}  // namespace polypath
