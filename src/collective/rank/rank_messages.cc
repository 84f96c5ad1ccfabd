#include "collective/rank/rank_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "collective/rank/ending.h"
#include "collective/rank/timeouts.h"
#include "communicator/watcher.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "kernels/messages.h"

namespace polypath::collective {

RankMessages::RankMessages(Driver& driver, const std::vector<PlaceId>& gpus,
                           Communicator& communicator, const Limits& limits)
    : driver_(driver),
      communicator_(communicator),
      rank_(communicator.rank()),
      watcher_(Watcher::of_process()),
      segment_(communicator),
      launcher_(
          std::make_unique<MessageLauncher>(driver, gpus, communicator, limits.multiprocessors)),
      under_way_(std::make_shared<MessagesUnderWay>(
          driver, gpu(), communicator, segment_,
          [this](const MessageTask& task) { return pair(task.peer).has_other_come(task); })),
      begun_(driver) {
  const MessagePair::Work work{
      .most = agree_on_most(limits.blocks),
      .is_over = [this](std::uint64_t launch) { return under_way_->is_over(launch); },
      .is_idle = [this, beside = limits.is_idle_beside] { return is_idle() && beside(); }};
  for (int peer = 0; peer < communicator.size(); ++peer)
    pairs_.push_back(peer == rank_ ? nullptr : make_pair_with(peer, work));
  watcher_->add(under_way_);
  communicator_.on_abort([this] { release_when_aborted(); });
}

RankMessages::~RankMessages() {
  if (release_.joinable()) release_.join();
  for (const StreamHandle stream : side_streams_)
    ignore_errors([&] { driver_.destroy_stream(stream); });
}

// Either end decides for both: the least that any rank has room for.
std::uint64_t RankMessages::agree_on_most(unsigned blocks) {
  std::uint64_t most = kMessageFlags;
  for (const Blob& each : communicator_.all_gather(std::to_string(blocks)))
    most = std::min(most,
                    most_under_way(communicator_.size(), static_cast<unsigned>(std::stoul(each))));
  return most;
}

std::unique_ptr<MessagePair> RankMessages::make_pair_with(int peer, const MessagePair::Work& work) {
  const MessagePair::Ends ends{.rank = rank_,
                               .peer = peer,
                               .gpu = gpu(),
                               .peer_gpu = launcher_->gpu_of(peer),
                               .flags = launcher_->flags_of(rank_),
                               .peer_flags = launcher_->flags_of(peer)};
  return std::make_unique<MessagePair>(driver_, segment_, ends, work);
}

// The other end may have decided by now, and relies on this one.
std::optional<MessageTask> RankMessages::decide(const PairMessage& message) {
  communicator_.check();
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
  watcher_->wake();
}

// Launches of one group must not wait for each other, no more than its tasks. Those that wait come
// first: they take little of a GPU, and copies of other ranks wait for them.
void RankMessages::enqueue(std::span<const MessageTask> tasks, StreamHandle stream, bool apart) {
  const auto copies = static_cast<std::size_t>(std::ranges::count_if(tasks, &MessageTask::copies));
  under_way_->begin_group();
  if (!apart && tasks.size() <= kMostMessages) {
    under_way_->come_after(stream, false);
    return launch(tasks, {.number = 0, .copies = copies}, stream);
  }
  std::vector<MessageTask> ordered(tasks.begin(), tasks.end());
  std::ranges::stable_partition(ordered, [](const MessageTask& task) { return !task.copies; });
  const std::span<const MessageTask> all(ordered);
  driver_.record(begun_.on(gpu()), stream);
  for (std::size_t at = 0; at < all.size(); at += kMostMessages) {
    const std::size_t number = at / kMostMessages;
    const StreamHandle side = side_stream(number);
    driver_.wait(side, begun_.on(gpu()));
    under_way_->come_after(side, false);
    launch(all.subspan(at, std::min(kMostMessages, all.size() - at)),
           {.number = number, .copies = copies}, side);
  }
  if (!apart) join(stream);
}

void RankMessages::launch(std::span<const MessageTask> tasks, const MessageLauncher::Group& group,
                          StreamHandle stream) {
  std::vector<MessageTask> ordered(tasks.begin(), tasks.end());
  std::ranges::stable_partition(ordered, &MessageTask::copies);
  launcher_->launch(ordered, group, stream);
  const std::uint64_t number = under_way_->add(ordered, stream);
  for (const MessageTask& each : ordered)
    if (each.peer != rank_) pair(each.peer).note_launched(each, number);
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
  for (int peer = 0; peer < communicator_.size(); ++peer)
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
  (void)launcher_.release(), side_streams_.clear();
  for (auto& each : pairs_) {
    if (each) each->abandon();
    (void)each.release();
  }
}

// The abort callback must not block. If no thread can be created, waits on the GPU stay.
void RankMessages::release_when_aborted() {
  if (!launcher_) return;
  try {
    release_ =
        std::thread([launcher = launcher_.get()] { ignore_errors([&] { launcher->abandon(); }); });
  } catch (const std::system_error& error) {
    log(LogLevel::warning, fmt::format("what waits on the GPU is not released: {}", error.what()));
  }
}

}  // namespace polypath::collective
