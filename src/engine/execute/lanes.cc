#include "engine/execute/lanes.h"

#include <algorithm>
#include <map>

#include "model/stream_calls.h"

namespace polypath::engine {
namespace {

// A node is a copy, a wait for each stream of another GPU, and a record that another GPU awaits:
// 345 chunks of which each GPU awaits the other one's filled a queue of 1021 (H100, driver 580,
// results/h100x4/queue_depth.json). Waits within a GPU and records that no other GPU awaits take no
// room (H200, driver 580, results/h200x2/driver_behaviour.json). Each stream waits for the
// program's, which waits for each.
std::vector<std::size_t> entries_by_queue(const Program& program) {
  const auto queue_of = [](const Node& node) { return static_cast<std::size_t>(node.queue); };
  const auto gpu_of = [&](const Node& node) { return program.queues()[queue_of(node)].gpu; };
  std::vector<std::size_t> entries(program.queues().size(), 2);
  std::vector<bool> awaited_elsewhere(program.nodes().size());
  for (const Node& node : program.nodes()) {
    ++entries[queue_of(node)];
    for (const int earlier : program.after(node)) {
      const Node& awaited = program.node(earlier);
      if (gpu_of(awaited) == gpu_of(node)) continue;
      ++entries[queue_of(node)];
      if (!awaited_elsewhere[static_cast<std::size_t>(earlier)]) ++entries[queue_of(awaited)];
      awaited_elsewhere[static_cast<std::size_t>(earlier)] = true;
    }
  }
  return entries;
}

// Of a stream beside the program's ones, in whichever queue of the hardware that is.
std::size_t entries_in_a_stream(const Program& program) {
  constexpr std::size_t kEntriesPerNode = 2;
  std::size_t most = 0;
  for (int queue = 1; queue < static_cast<int>(program.queues().size()); ++queue)
    most = std::max(most, program.nodes_in(queue));
  return kEntriesPerNode * most;
}

// In the fullest queue of the hardware. A GPU's streams get them by turns (H200, driver 580), those
// of a lane whenever it first needs one: all of them may have got the same.
std::size_t entries_in_a_queue(const Program& program) {
  const std::vector<std::size_t> entries = entries_by_queue(program);
  std::map<PlaceId, std::size_t> by_gpu;
  for (std::size_t queue = 1; queue < entries.size(); ++queue)
    by_gpu[program.queues()[queue].gpu] += entries[queue];
  std::size_t most = 0;
  for (const auto& [gpu, together] : by_gpu) most = std::max(most, together);
  return most;
}

// In the program's contexts a part of the room is the program's. In contexts of our own a lane has
// nearly all of it (960 of 1021 on H200): while something is held there nothing else comes in.
int entries_for(const Machine& machine, const Settings& settings) {
  const int beside_the_program = machine.driver.stream_entries;
  return settings.own_contexts ? beside_the_program * 5 / 4 : beside_the_program;
}

}  // namespace

Lane::Lane(Driver& driver, const Machine& machine, const Settings& settings, Statistics& statistics)
    : driver_(driver),
      hops_(driver, machine, settings),
      streams_(driver, hops_),
      graphs_(driver, hops_, settings, statistics),
      before_graphs_(driver),
      depth_(driver, entries_for(machine, settings)),
      own_contexts_(settings.own_contexts),
      loan_(driver) {}

void Lane::prepare(const Transfer& transfer, Executor executor) {
  if (executor != Executor::graph) return streams_.prepare(transfer);
  (void)before_graphs_.on(transfer.stream_gpu);
  graphs_.prepare(transfer);
}

void Lane::run(const Transfer& transfer, Executor executor) {
  if (executor == Executor::graph) {
    const EventHandle started = before_graphs_.on(transfer.stream_gpu);
    loan_.start_after(started);
    driver_.record(started, transfer.stream);
    return graphs_.run(transfer);
  }
  loan_.start_after(streams_.forked_on(transfer.stream_gpu));
  streams_.run(transfer);
  depth_.add(entries_of(*transfer.program), transfer.stream, transfer.stream_gpu);
}

bool Lane::settle(const Transfer& transfer) noexcept {
  const bool settled = hops_.settle(transfer);
  poisoned_ |= !settled;
  return settled;
}

std::size_t Lane::entries_of(const Program& program) const {
  return own_contexts_ ? entries_in_a_queue(program) : entries_in_a_stream(program);
}

bool Lane::fits(const Program& program) { return depth_.fits(entries_of(program)); }

// The program's stream records an event that the others await, and waits for those that end last.
bool Lane::may_be_held(const Program& program) {
  return loan_.may_hold(1 + joined_queues(program));
}

bool Lane::is_free() const { return !poisoned_ && loan_.has_started(); }

Lanes::Lanes(Driver& driver, const Machine& machine, const Settings& settings,
             Statistics& statistics)
    : driver_(driver), machine_(machine), settings_(settings), statistics_(statistics) {}

bool Lanes::any_held_beside(StreamHandle stream) const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const auto& lane) { return lane->loan().is_held_beside(stream); });
}

Lane* Lanes::find_own(StreamHandle stream) const {
  for (const auto& lane : lanes_)
    if (lane->is_kept_by(stream)) return lane.get();
  return nullptr;
}

Lane* Lanes::lend_to(StreamHandle stream, Lane* lane) {
  if (lane != nullptr) lane->loan().lend_to(stream);
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
    if (lane->is_idle()) return lend_to(stream, lane.get());
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
    if (lane->is_idle() && !kept(*lane)) taken.push_back(std::move(lane));
  std::erase(lanes_, nullptr);
  return taken;
}

bool Lanes::any_ends_soon() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) { return lane->is_free() && !lane->hops().is_idle(); });
}

Lane* Lanes::find_free(bool apart) {
  const auto is_apart = [&](const Lane* lane) {
    return std::find(lent_apart_.begin(), lent_apart_.end(), lane) == lent_apart_.end();
  };
  for (const auto& lane : lanes_)
    if ((!apart || is_apart(lane.get())) && lane->is_free()) return lane.get();
  return make_lane();
}

}  // namespace polypath::engine
