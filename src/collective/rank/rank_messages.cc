#include "collective/rank/rank_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "collective/rank/ending.h"
#include "collective/rank/rank_memory.h"
#include "collective/rank/timeouts.h"
#include "communicator/watcher.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "kernels/messages.h"

namespace polypath {
namespace {

constexpr Bytes kFlagsAt{kMessageStateBytes}, kFlag{sizeof(std::uint32_t)};
constexpr std::uint64_t kOfBlock = 128 << 10;  // a block has so much to do at least

KernelMemory part(Address address, PlaceId place, Bytes bytes, bool writes) {
  return {.address = address, .place = place, .bytes = bytes, .writes = writes};
}

}  // namespace

RankMessages::RankMessages(Driver& driver, const std::vector<PlaceId>& gpus,
                           Communicator& communicator, unsigned multiprocessors)
    : driver_(driver),
      gpus_(gpus),
      communicator_(communicator),
      rank_(communicator.rank()),
      multiprocessors_(std::max(multiprocessors, 2U)),
      segment_(communicator),
      flags_(gpus.size()),
      under_way_(std::make_shared<MessagesUnderWay>(
          driver, gpu(), communicator, segment_,
          [this](const MessageTask& task) { return pair(task.peer).has_other_come(task); })),
      begun_(driver) {
  try {
    kernel_ = driver_.load_kernel(gpu(), messages_kernel());
    exchange_flags();
  } catch (...) {
    give_back();
    throw;
  }
  make_pairs();
  Watcher::of_process()->add(under_way_);
  communicator_.on_abort([this] { release_when_aborted(); });
}

RankMessages::~RankMessages() {
  if (release_.joinable()) release_.join();
  pairs_.clear();
  give_back();
}

void RankMessages::give_back() noexcept {
  for (const StreamHandle stream : side_streams_)
    ignore_errors([&] { driver_.destroy_stream(stream); });
  if (kernel_.value != 0) ignore_errors([&] { driver_.unload_kernel(kernel_); });
  for (std::size_t peer = 0; peer < flags_.size(); ++peer)
    if (static_cast<int>(peer) != rank_ && flags_[peer].value != 0)
      ignore_errors([&] { driver_.release_import(flags_[peer]); });
  if (state_.value != 0) ignore_errors([&] { driver_.free(state_); });
}

void RankMessages::exchange_flags() {
  state_ = driver_.allocate_zeros(gpu(), kFlagsAt + message_flag_bytes(communicator_.size()));
  const auto all = all_gather_by(communicator_)(driver_.export_memory(state_));
  for (int peer = 0; peer < communicator_.size(); ++peer) {
    const auto of = static_cast<std::size_t>(peer);
    flags_[of] = peer == rank_ ? state_ : import_of_rank(driver_, peer, all[of], gpu());
  }
}

void RankMessages::make_pairs() {
  for (int peer = 0; peer < communicator_.size(); ++peer) {
    pairs_.emplace_back();
    if (peer == rank_) continue;
    const MessagePair::Ends ends{.rank = rank_,
                                 .peer = peer,
                                 .gpu = gpu(),
                                 .peer_gpu = gpus_[static_cast<std::size_t>(peer)],
                                 .flags = state_ + kFlagsAt,
                                 .peer_flags = flags_[static_cast<std::size_t>(peer)] + kFlagsAt};
    pairs_.back() =
        std::make_unique<MessagePair>(driver_, segment_, ends, [this](std::uint64_t launch) {
          return under_way_->is_over(launch);
        });
  }
}

void RankMessages::await_slot(const PairMessage& message) {
  while (!pair(message.peer).has_slot(message.direction)) {
    communicator_.check();
    std::this_thread::yield();
  }
}

// The other end may have decided by now, and relies on this one.
std::optional<MessageTask> RankMessages::decide(const PairMessage& message) {
  communicator_.check();
  await_slot(message);
  try {
    return pair(message.peer).decide(message);
  } catch (const Error& error) {
    communicator_.abort(error.what(), error.code());
    throw;
  }
}

MessageTask RankMessages::copy_within(Address source, Address destination, Bytes bytes) const {
  return {.copies = true,
          .source = source,
          .destination = destination,
          .source_place = gpu(),
          .destination_place = gpu(),
          .bytes = bytes,
          .peer = rank_};
}

StreamHandle RankMessages::side_stream(std::size_t number) {
  while (side_streams_.size() <= number) side_streams_.push_back(driver_.create_stream(gpu()));
  return side_streams_[number];
}

void RankMessages::run(std::span<const MessageTask> tasks, StreamHandle stream, bool apart) {
  try {
    enqueue(tasks, stream, apart);
  } catch (const Error& error) {
    communicator_.abort(error.what(), error.code());
    throw;
  }
  Watcher::of_process()->wake();
}

// Launches of one group must not wait for each other, no more than its tasks.
void RankMessages::enqueue(std::span<const MessageTask> tasks, StreamHandle stream, bool apart) {
  under_way_->begin_group();
  if (!apart && tasks.size() <= kMostMessages) {
    under_way_->come_after(stream, false);
    return launch(tasks, stream);
  }
  driver_.record(begun_.on(gpu()), stream);
  for (std::size_t at = 0; at < tasks.size(); at += kMostMessages) {
    const StreamHandle side = side_stream(at / kMostMessages);
    driver_.wait(side, begun_.on(gpu()));
    under_way_->come_after(side, false);
    launch(tasks.subspan(at, std::min(kMostMessages, tasks.size() - at)), side);
  }
  if (!apart) join(stream);
}

void RankMessages::launch(std::span<const MessageTask> tasks, StreamHandle stream) {
  std::vector<MessageTask> ordered(tasks.begin(), tasks.end());
  std::ranges::stable_partition(ordered, &MessageTask::copies);
  driver_.run(request_of(ordered), stream);
  const std::uint64_t number = under_way_->add(ordered, stream);
  for (const MessageTask& each : ordered)
    if (each.peer != rank_) pair(each.peer).note_launched(each, number);
}

KernelRequest RankMessages::request_of(std::span<const MessageTask> tasks) const {
  std::vector<MessageValues> values;
  std::vector<KernelMemory> memory{part(state_, gpu(), Bytes{kMessageStateBytes}, true)};
  std::size_t copies = 0;
  Bytes largest{1};
  for (const MessageTask& each : tasks) {
    values.push_back({.bytes = each.bytes, .value = each.value});
    if (each.copies) {
      ++copies, largest = std::max(largest, each.bytes);
      memory.push_back(part(each.source, each.source_place, each.bytes, false));
      memory.push_back(part(each.destination, each.destination_place, each.bytes, true));
    }
    const PlaceId theirs = gpus_[static_cast<std::size_t>(each.peer)];
    memory.push_back(part(each.signal, theirs, kFlag, true));
    memory.push_back(part(each.awaited, gpu(), kFlag, false));
  }
  const unsigned blocks = blocks_of_copy(copies, largest);
  return {.kernel = kernel_,
          .gpu = gpu(),
          .memory = std::move(memory),
          .values = message_values(copies, values, blocks),
          .shape = message_shape(copies, blocks)};
}

unsigned RankMessages::blocks_of_copy(std::size_t copies, Bytes largest) const {
  const std::uint64_t useful = (largest.value + kOfBlock - 1) / kOfBlock;
  const std::uint64_t all = multiprocessors_ - 1;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(all / std::max<std::size_t>(copies, 1), 1, useful));
}

// Memory is imported between two exchanges, in which all ranks wait for each other.
void RankMessages::open(std::span<const Address> memory) {
  for (const auto& each : pairs_)
    for (const Address address : memory)
      if (each) each->publish(address);
  (void)communicator_.all_gather({});
  for (const auto& each : pairs_)
    if (each) each->take_in();
  (void)communicator_.all_gather({});
}

void RankMessages::close() {
  for (const auto& each : pairs_)
    if (each) each->take_back();
  (void)communicator_.all_gather({});
  for (const auto& each : pairs_)
    if (each) each->take_in();
  (void)communicator_.all_gather({});
}

bool RankMessages::have_all_left() const {
  for (int peer = 0; peer < static_cast<int>(gpus_.size()); ++peer)
    if (peer != rank_ && !segment_.has_left(peer) && segment_.lives(peer)) return false;
  return true;
}

// When a message is over at this end, the other one touches nothing of this rank's any more. After
// an abort it may be at it still. Memory that may still be used is kept.
void RankMessages::leave() noexcept {
  const auto check = [&] { communicator_.check(); };
  const bool is_settled = await_end([&] { return is_idle(); }, check, kGpuTimeout);
  under_way_->close();
  if (is_settled) segment_.leave();
  const auto have_gone = [&] { return ignore_errors(check) || have_all_left(); };
  if (is_settled && await_end(have_gone, check, kPeerTimeout)) return;
  log(LogLevel::warning, "memory of messages stays in use: what is queued does not end");
  state_ = {}, kernel_ = {}, side_streams_.clear();
  std::ranges::fill(flags_, Address{});
  for (auto& each : pairs_) (void)each.release();
}

// The abort callback must not block. If no thread can be created, waits on the GPU stay.
void RankMessages::release_when_aborted() {
  try {
    release_ = std::thread([this] {
      ignore_errors([&] { driver_.signal(state_ + Bytes{4 * kMessagesAbandoned}, gpu(), 1); });
    });
  } catch (const std::system_error& error) {
    log(LogLevel::warning, fmt::format("what waits on the GPU is not released: {}", error.what()));
  }
}

}  // namespace polypath
