#include "engine/lanes.h"

#include <algorithm>

namespace polypath {
namespace {

// A node of a transfer is a copy and at most one wait for a stream of another GPU; event records
// take no room (H200, driver 580).
constexpr std::size_t kEntriesPerNode = 2;

std::size_t entries_of(const Program& program) {
  std::size_t most = 0;
  for (int queue = 1; queue < static_cast<int>(program.queues().size()); ++queue)
    most = std::max(most, program.nodes_in(queue));
  return kEntriesPerNode * most;
}

}  // namespace

Lane::Lane(Driver& driver, const Machine& machine, const Settings& settings, Statistics& statistics)
    : driver_(driver),
      hops_(driver, machine, settings),
      streams_(driver, hops_),
      graphs_(driver, hops_, settings, statistics),
      before_graphs_(driver),
      depth_(driver, machine.driver.stream_entries) {}

void Lane::prepare(const Transfer& transfer, Executor executor) {
  if (executor != Executor::graph) return streams_.prepare(transfer);
  (void)before_graphs_.on(transfer.stream_gpu);
  graphs_.prepare(transfer);
}

void Lane::run(const Transfer& transfer, Executor executor) {
  if (executor == Executor::graph) {
    started_ = before_graphs_.on(transfer.stream_gpu);
    driver_.record(started_, transfer.stream);
    return graphs_.run(transfer);
  }
  started_ = streams_.forked_on(transfer.stream_gpu);
  streams_.run(transfer);
  depth_.add(entries_of(*transfer.program), transfer.stream, transfer.stream_gpu);
}

bool Lane::settle(const Transfer& transfer) noexcept {
  const bool settled = hops_.settle(transfer);
  spoilt_ |= !settled;
  return settled;
}

bool Lane::has_room(const Program& program) { return depth_.has_room(entries_of(program)); }

Lanes::Lanes(Driver& driver, const Machine& machine, const Settings& settings,
             Statistics& statistics)
    : driver_(driver), machine_(machine), settings_(settings), statistics_(statistics) {}

bool Lanes::is_free(const Lane& lane) const {
  if (lane.spoilt_) return false;
  bool started = lane.started_.value == 0;
  return started || (quietly([&] { started = driver_.is_done(lane.started_); }) && started);
}

Lane* Lanes::find_own(StreamHandle stream) const {
  for (const auto& lane : lanes_)
    if (lane->lent_ && lane->borrower_ == stream && !lane->spoilt_) return lane.get();
  return nullptr;
}

Lane* Lanes::lend_to(StreamHandle stream, Lane* lane) {
  if (lane == nullptr) return nullptr;
  lane->borrower_ = stream;
  lane->lent_ = true;
  return lane;
}

Lane* Lanes::lend(StreamHandle stream) {
  if (Lane* own = find_own(stream)) return own;
  return lend_to(stream, find_free(false));
}

Lane* Lanes::lend_apart(StreamHandle stream) {
  Lane* lane = find_own(stream);
  if (lane == nullptr) lane = lend_to(stream, find_free(true));
  if (lane == nullptr) return lend(stream);
  lent_apart_.push_back(lane);
  return lane;
}

Lane* Lanes::lend_idle(StreamHandle stream) {
  if (Lane* own = find_own(stream)) return own;
  for (const auto& lane : lanes_)
    if (is_free(*lane) && lane->hops_.is_idle()) return lend_to(stream, lane.get());
  Lane* made = make_lane();
  return made != nullptr ? lend_to(stream, made) : lend(stream);
}

// Null if there are as many as there may be.
Lane* Lanes::make_lane() {
  if (lanes_.size() >= static_cast<std::size_t>(settings_.lanes)) return nullptr;
  return lanes_.emplace_back(std::make_unique<Lane>(driver_, machine_, settings_, statistics_))
      .get();
}

Lanes::Taken Lanes::take_idle(const std::function<bool(const Lane&)>& kept) {
  Taken taken;
  for (auto& lane : lanes_)
    if (is_free(*lane) && lane->hops_.is_idle() && !kept(*lane)) taken.push_back(std::move(lane));
  std::erase(lanes_, nullptr);
  return taken;
}

bool Lanes::any_ends_soon() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [this](const auto& lane) { return is_free(*lane) && !lane->hops_.is_idle(); });
}

std::vector<EventHandle> Lanes::ends_of_staged() const {
  std::vector<EventHandle> ends;
  for (const auto& lane : lanes_) lane->hops_.add_ends(ends);
  return ends;
}

Lane* Lanes::find_free(bool apart) {
  const auto is_apart = [&](const Lane* lane) {
    return std::find(lent_apart_.begin(), lent_apart_.end(), lane) == lent_apart_.end();
  };
  for (const auto& lane : lanes_)
    if ((!apart || is_apart(lane.get())) && is_free(*lane)) return lane.get();
  return make_lane();
}

}  // namespace polypath
