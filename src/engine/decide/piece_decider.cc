#include "engine/decide/piece_decider.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace polypath::engine {
namespace {

// Of sets that are too small for a plan of copies. So many gain 1.4 to 2.1 by kernels on H200s, 4
// gain nothing, and to find that out costs 3 us of the 15 that they take
// (results/h200x2/many.json).
constexpr std::size_t kFewestForKernels = 12;

bool meets_only_way_back(const Contention& contention, const TransferRequest& asked) {
  return std::ranges::all_of(contention.load, [&](const ConcurrentTransfer& other) {
    return other.source == asked.destination && other.destination == asked.source;
  });
}

}  // namespace

PieceDecider::PieceDecider(Driver& driver, const Machine& machine, const Settings& settings,
                           PlanFinder& plans, LoadTracker& load, KernelPreparer& kernels)
    : driver_(driver),
      machine_(machine),
      settings_(settings),
      plans_(plans),
      load_(load),
      kernels_(kernels),
      groups_(settings.staging_slots) {}

// A graph would need new addresses for each copy each time, which costs half as much again as to
// issue it.
bool PieceDecider::may_be_piece(const SetMember& member) const {
  const CopyCall& call = member.call;
  const std::optional<Executor> choice = plans_.choice_of(call.options);
  return call.bytes >= kSmallestPiece && call.bytes <= settings_.staging_slot &&
         !call.options.asks_for_paths() && !call.cautious &&
         (!choice || choice == Executor::stream);
}

// A recipe knows nothing of what else is in flight, but what goes the other way has directions of
// links of its own: simulated on h200x4, 128 MiB each way at once take 2.1 ms in pieces of 64 KiB
// instead of 9.3, when those that came later were single copies, and of 2 MiB 1.8 instead of 3.1.
bool PieceDecider::decide(SetDecision& many) {
  auto set = find_pieces(many.members, settings_.staging_slot);
  if (!set || set->bytes < settings_.min_message.value_or(Bytes{})) return false;
  if (set->sizes.size() < kFewestForKernels && set->bytes < kAlwaysPlanned) return false;
  const SetMember& first = many.members[set->members.front()];
  many.time = driver_.now();
  const TransferRequest asked{first.call.stream, first.ends.source, first.ends.destination,
                              set->bytes};
  const Contention contention = load_.contention_of(asked, many.time);
  if (!meets_only_way_back(contention, asked)) {
    note_natively(many, *set, contention);
    return false;
  }
  Pieces pieces{.set = *std::move(set), .recipe = nullptr, .contention = contention};
  pieces.recipe = recipe_for(many, pieces.set);
  if (pieces.recipe) {
    if (pieces.recipe->plan->executor() == Executor::native) return false;
    pieces.plan = plan_group(many, pieces);
    if (pieces.plan == nullptr || load_.lacks_room(*pieces.plan, contention.foreign_load))
      return false;
  }
  many.pieces = std::move(pieces);
  many.set.parts.resize(many.calls.size());
  return true;
}

void PieceDecider::decide_next(SetDecision& many) {
  Pieces& pieces = *many.pieces;
  pieces.have_gone_by_paths |= pieces.result && pieces.result->means == Method::paths;
  ++pieces.group;
  pieces.result.reset();
  if (!pieces.recipe) return;
  pieces.plan = plan_group(many, pieces);
  if (pieces.plan == nullptr) pieces.result.emplace();
}

// Null if its pieces depend on each other, or on copies between them.
PlanPointer PieceDecider::plan_group(const SetDecision& many, const Pieces& pieces) {
  const PieceGroup group = group_of(pieces.set, pieces.group);
  const std::size_t first = group.members.front();
  const std::span<const SetMember> members(many.members);
  if (depend_on_each_other(members.subspan(first, group.members.back() + 1 - first)))
    return nullptr;
  return groups_.plan(machine_, pieces.recipe, group.sizes);
}

// Else what the way has once met would be expected for ever: transfers are forgotten by what comes
// without them.
void PieceDecider::note_natively(const SetDecision& many, const PieceSet& set,
                                 const Contention& contention) {
  const CopyCall& first = many.members[set.members.front()].call;
  if (const PieceRecipePointer recipe = recipe_for(many, set))
    load_.add(first.stream, native_plan_of(*recipe, set.bytes), many.time, contention);
}

// By kernels where they may be used, else by copies; those of small sets are not worth a plan.
PieceRecipePointer PieceDecider::recipe_for(const SetDecision& many, const PieceSet& set) {
  const SetMember& first = many.members[set.members.front()];
  PieceRequest request = piece_request(first.ends.source, first.ends.destination, set.sizes.size(),
                                       set.bytes, set.members.size());
  request.left_out = plans_.left_out_for(first.call, first.ends);
  request.plan_copies = set.bytes >= settings_.min_message.value_or(kAlwaysPlanned);
  request.batched = many.batched;
  if (settings_.piece_kernels && !many.batched) request.issuer = first.call.stream_gpu;
  PieceRecipePointer recipe = plans_.find(request);
  if (!recipe || !recipe->issuer || kernels_.may_run(*recipe, set, many.members)) return recipe;
  request.issuer.reset();
  return plans_.find(request);
}

bool PieceDecider::may_take_batch(const CopyCall& like, const CopyEnds& ends, std::size_t copies,
                                  Bytes bytes) {
  if (copies < kFewestPieces || ends.source == ends.destination) return false;
  PieceRequest request = piece_request(ends.source, ends.destination, copies, bytes, copies);
  if (bytes < settings_.min_message.value_or(kAlwaysPlanned)) return false;
  if (plans_.choice_of(like.options) == Executor::native) return false;
  request.left_out = plans_.left_out_for(like, ends);
  request.batched = true;
  const PieceRecipePointer recipe = plans_.find(request);
  return recipe && recipe->plan->executor() != Executor::native;
}

}  // namespace polypath::engine
