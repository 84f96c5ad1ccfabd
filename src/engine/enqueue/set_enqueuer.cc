#include "engine/enqueue/set_enqueuer.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace polypath::engine {

SetEnqueuer::SetEnqueuer(BriefMutex& mutex, Lanes& lanes, SideStreams& side_streams,
                         SetDecider& decider, Enqueuer& enqueuer, PageableEnqueuer& pageable,
                         PieceRunner& pieces)
    : mutex_(mutex),
      lanes_(lanes),
      side_streams_(side_streams),
      decider_(decider),
      enqueuer_(enqueuer),
      pageable_(pageable),
      pieces_(pieces) {}

// Where the caller waits for a driver that may block, no lock is held.
std::vector<CopyResult> SetEnqueuer::copy(std::span<const CopyCall> calls, std::size_t* enqueued) {
  if (enqueued != nullptr) *enqueued = 0;
  Progress set{.many = {.calls = calls}};
  std::unique_lock lock(mutex_);
  begin(set);
  std::exception_ptr failure;
  try {
    while (const std::optional<Decision> blocking = enqueue_until_blocking(set)) {
      lock.unlock();
      set.take(pageable_.enqueue(*blocking, NativeCopyBy::engine));
      lock.lock();
    }
    decider_.remember(set.many, set.results);
  } catch (const Error&) {
    failure = std::current_exception();
    decider_.forget(set.many);
  }
  if (enqueued != nullptr) *enqueued = set.enqueued();
  if (!lock.owns_lock()) lock.lock();
  side_streams_.join(set.sides);
  if (failure) std::rethrow_exception(failure);
  return std::move(set.results);
}

bool SetEnqueuer::take_batch(std::span<const CopyCall> calls) {
  SetDecision many{.calls = calls};
  const std::scoped_lock lock(mutex_);
  if (!decider_.decide_batch(many)) return false;
  lanes_.start_set();
  if (!pieces_.enqueue_group(many)) return false;
  for (std::size_t number = 0; number < calls.size(); ++number) (void)enqueue_piece(many, number);
  return true;
}

CopyResult SetEnqueuer::enqueue_piece(SetDecision& many, std::size_t number) {
  if (many.pieces->are_past(number)) decider_.decide_next_pieces(many);
  return pieces_.enqueue(many, number);
}

void SetEnqueuer::begin(Progress& set) {
  decider_.decide(set.many);
  fork(set);
  lanes_.start_set();
  set.order = order_of(set.many);
  set.results.resize(set.many.calls.size());
}

std::size_t SetEnqueuer::Progress::enqueued() const {
  const auto left = order.begin() + static_cast<std::ptrdiff_t>(made);
  return left == order.end() ? order.size() : *std::min_element(left, order.end());
}

// Of native copies that are remembered nothing but the plan is known.
std::vector<std::size_t> SetEnqueuer::order_of(const SetDecision& many) {
  const bool as_asked = !many.joint || many.recalled ||
                        std::is_sorted(many.joint->order.begin(), many.joint->order.end());
  if (as_asked) return order_asked_for(many.calls.size());
  return order_of_calls(many.set, many.calls, many.joint->order);
}

// Without streams for a joint plan each copy is by itself.
void SetEnqueuer::fork(Progress& set) {
  if (!set.many.joint || set.many.set.branches.empty()) return;
  set.sides = side_streams_.fork(set.many.set.branches);
  if (set.sides.empty()) set.many.joint = nullptr;
}

// In the stream of its branch, if it has one.
const CopyCall& SetEnqueuer::next_call(Progress& set) const {
  const std::size_t number = set.number();
  const CopyCall& call = set.many.calls[number];
  const auto branch = set.many.part(number).branch;
  if (!branch) return call;
  set.beside = call;
  set.beside->stream = set.sides[*branch]->stream;
  return *set.beside;
}

// Enqueues the copies up to one that may block, if there is one. Returns the decision about it.
std::optional<Decision> SetEnqueuer::enqueue_until_blocking(Progress& set) {
  SetDecision& many = set.many;
  while (set.made < many.calls.size()) {
    const std::size_t number = set.number();
    if (many.pieces && many.members[number].piece) {
      set.take(enqueue_piece(many, number));
      continue;
    }
    Decision decision = decider_.decide_one(many, number, next_call(set));
    if (decision.may_block) return decision;
    set.take(enqueuer_.enqueue(decision, NativeCopyBy::engine));
  }
  return std::nullopt;
}

}  // namespace polypath::engine
