#include "communicator/transport/transport_by_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "communicator/transport/asked_message.h"
#include "communicator/transport/last_words.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/signals.h"
#include "core/text.h"

namespace polypath::communicator {
namespace {

constexpr Seconds kUntilWordsTold{1}, kUntilThreadsEnd{2};
constexpr std::chrono::milliseconds kBetweenTests{1};

struct CallHeader {
  std::uint32_t tag = 0;
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;
};

struct SpokenWords {
  std::uint32_t has_ended_well = 0;
  std::uint32_t code = 0;
  std::array<char, 1016> text{};  ///< ends with a zero
};

template <class Value>
std::span<const std::byte> as_bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class Value>
std::span<std::byte> as_room_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

void transfer(const WaitingCalls& calls, const AskedMessage& asked) {
  CallHeader header{.tag = asked.tag, .bytes = asked.size()};
  if (asked.is_sent) {
    calls.send(asked.other, WaitingCalls::messages, as_bytes_of(header));
    if (!asked.given.empty()) calls.send(asked.other, WaitingCalls::messages, asked.given);
    return;
  }
  CallHeader come;
  calls.receive(asked.other, WaitingCalls::messages, as_room_of(come));
  if (come.tag != header.tag || come.bytes != header.bytes)
    throw Error(ErrorCode::communicator,
                fmt::format("it sent {} bytes with tag {} where {} with tag {} were expected",
                            come.bytes, come.tag, header.bytes, header.tag));
  if (!asked.taken.empty()) calls.receive(asked.other, WaitingCalls::messages, asked.taken);
}

/// What the threads of a rank share with its end.
struct CallsShared {
  explicit CallsShared(WaitingCalls by) : calls(std::move(by)) {}

  WaitingCalls calls;
  std::mutex mutex;  ///< guards the members below
  std::condition_variable changed;
  std::map<std::pair<int, bool>, std::deque<AskedMessage>>
      queues;  ///< by rank, and whether it is sent
  std::map<MessageNumber, AskedMessage> under_way;
  std::map<int, std::string> problems;  ///< by rank
  std::optional<Error> aborted, failure;
  std::optional<std::pair<int, std::string>> gone;  ///< a rank that has ended without a word
  MessageNumber started = 0;
  int threads = 0, in_calls = 0;
  int awaited_words = 0;  ///< of this rank's to the others, and of theirs
  bool is_over = false;   ///< no thread begins another call
};

using CallsState = std::shared_ptr<CallsShared>;

// Counted, so that their end can be awaited; they may outlast the transport. The mutex is held.
template <class Action>
void start_thread(const CallsState& state, Action action) {
  const ThreadSignals signals;
  std::thread([state, action] {
    action(*state);
    const std::scoped_lock lock(state->mutex);
    --state->threads;
    state->changed.notify_all();
  }).detach();
  ++state->threads;
}

void note_problem(CallsShared& shared, int other, const std::string& why) {
  if (!shared.is_over) shared.problems.emplace(other, why);
}

// The queue's messages, one after another; after an error no other one.
void carry(CallsShared& shared, const std::pair<int, bool>& which) {
  std::unique_lock lock(shared.mutex);
  std::deque<AskedMessage>& queue = shared.queues[which];
  while (true) {
    shared.changed.wait(lock, [&] { return shared.is_over || !queue.empty(); });
    if (shared.is_over) return;
    const AskedMessage asked = queue.front();
    queue.pop_front();
    ++shared.in_calls;
    lock.unlock();
    std::string problem;
    try {
      transfer(shared.calls, asked);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    lock.lock();
    --shared.in_calls;
    if (!problem.empty()) return note_problem(shared, asked.other, problem);
    shared.under_way.erase(asked.number);
    shared.changed.notify_all();
  }
}

// A rank that is gone has ended without a word.
void listen(CallsShared& shared, int other) {
  SpokenWords words;
  std::string problem;
  try {
    shared.calls.receive(other, WaitingCalls::last_words, as_room_of(words));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  const std::scoped_lock lock(shared.mutex);
  --shared.awaited_words;
  shared.changed.notify_all();
  if (shared.is_over || (problem.empty() && words.has_ended_well != 0)) return;
  words.text.back() = 0;
  if (problem.empty()) {
    shared.failure.emplace(error_code_of(words.code), valid_text(words.text.data()));
  } else {
    note_problem(shared, other, problem);
    if (!shared.gone) shared.gone.emplace(other, problem);
  }
}

// What ends a library's calls may also lose what they have sent: hence after all words.
void stop_calls(CallsShared& shared) {
  {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait_for(lock, std::chrono::duration<double>(kUntilWordsTold.value),
                            [&] { return shared.awaited_words == 0; });
  }
  ignore_errors(shared.calls.stop);
}

class TransportByCalls final : public Transport {
 public:
  TransportByCalls(WaitingCalls calls, int rank, int size);
  ~TransportByCalls() override;

  bool test(MessageNumber message) override;
  void abort(const std::string& why, ErrorCode code) override;
  void finish() override;
  std::optional<Error> failure() override;
  bool is_busy() override;

 private:
  MessageNumber start_sending(int to, std::uint32_t tag, std::span<const std::byte> bytes) override;
  MessageNumber start_receiving(int from, std::uint32_t tag, std::span<std::byte> bytes) override;
  void pause() override;
  std::string awaited(MessageNumber message) override;

  MessageNumber ask(AskedMessage asked);
  void check_aborted() const;
  [[nodiscard]] std::optional<Error> found() const;
  void say(const SpokenWords& words);

  CallsState state_;
};

TransportByCalls::TransportByCalls(WaitingCalls calls, int rank, int size)
    : Transport(rank, size), state_(std::make_shared<CallsShared>(std::move(calls))) {
  const std::scoped_lock lock(state_->mutex);
  state_->awaited_words = size - 1;
  for (int other = 0; other < size; ++other)
    if (other != rank)
      start_thread(state_, [other](CallsShared& shared) { listen(shared, other); });
}

TransportByCalls::~TransportByCalls() {
  ignore_errors([this] {
    const Error ended(ErrorCode::communicator, "its collectives have ended");
    const Error why = failure().value_or(ended);
    abort(why.what(), why.code());
  });
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, std::chrono::duration<double>(kUntilThreadsEnd.value),
                           [this] { return state_->threads == 0; });
}

void TransportByCalls::check_aborted() const {
  if (!state_->aborted) return;
  fail(ErrorCode::communicator, fmt::format("rank {} sends and receives no more", rank()),
       fmt::format("it was aborted: {}", state_->aborted->what()), "Start all ranks again.");
}

MessageNumber TransportByCalls::ask(AskedMessage asked) {
  const std::scoped_lock lock(state_->mutex);
  check_aborted();
  asked.number = ++state_->started;
  const std::pair<int, bool> which{asked.other, asked.is_sent};
  if (!state_->queues.contains(which))
    start_thread(state_, [which](CallsShared& shared) { carry(shared, which); });
  state_->queues[which].push_back(asked);
  state_->under_way.emplace(asked.number, asked);
  state_->changed.notify_all();
  return asked.number;
}

MessageNumber TransportByCalls::start_sending(int to, std::uint32_t tag,
                                              std::span<const std::byte> bytes) {
  return ask({.other = to, .tag = tag, .is_sent = true, .given = bytes});
}

MessageNumber TransportByCalls::start_receiving(int from, std::uint32_t tag,
                                                std::span<std::byte> bytes) {
  return ask({.other = from, .tag = tag, .taken = bytes});
}

bool TransportByCalls::test(MessageNumber message) {
  const std::scoped_lock lock(state_->mutex);
  check_aborted();
  const auto found = state_->under_way.find(message);
  if (found == state_->under_way.end()) return true;
  const auto problem = state_->problems.find(found->second.other);
  const auto failure = this->found();
  if (problem == state_->problems.end() && !failure) return false;
  fail(ErrorCode::communicator,
       fmt::format("rank {} has a message with {} that cannot end", rank(),
                   describe(found->second.other)),
       problem != state_->problems.end() && !state_->failure
           ? problem->second
           : fmt::format("a rank has given up: {}", failure->what()),
       "Look at what that rank has said, and start all ranks again.");
}

// Until a message is over; for a short while, because the news may have come since the test.
void TransportByCalls::pause() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, kBetweenTests);
}

std::string TransportByCalls::awaited(MessageNumber message) {
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->under_way.find(message);
  if (found == state_->under_way.end()) return "a message that is over";
  const AskedMessage& asked = found->second;
  return describe_part(asked.other, asked.is_sent, asked.size(), asked.tag);
}

void TransportByCalls::abort(const std::string& why, ErrorCode code) {
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->is_over || state_->aborted) return;
    state_->aborted.emplace(code, why.empty() ? "no reason was given" : why);
  }
  SpokenWords words{.code = static_cast<std::uint32_t>(code)};
  std::strncpy(words.text.data(), why.c_str(), words.text.size() - 1);
  say(words);
}

void TransportByCalls::finish() {
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->is_over || state_->aborted) return;
    state_->aborted.emplace(ErrorCode::communicator, "it has ended");
  }
  say({.has_ended_well = 1});
}

// By a thread for each, because one that has stopped would hold up the others.
void TransportByCalls::say(const SpokenWords& words) {
  const std::scoped_lock lock(state_->mutex);
  state_->is_over = true;
  state_->awaited_words += size() - 1;
  state_->changed.notify_all();
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    start_thread(state_, [other, words](CallsShared& shared) {
      ignore_errors(
          [&] { shared.calls.send(other, WaitingCalls::last_words, as_bytes_of(words)); });
      const std::scoped_lock one(shared.mutex);
      --shared.awaited_words;
      shared.changed.notify_all();
    });
  }
  start_thread(state_, stop_calls);
}

// The mutex is held.
std::optional<Error> TransportByCalls::found() const {
  if (state_->failure || !state_->gone) return state_->failure;
  const auto& [other, why] = *state_->gone;
  return has_ended(describe(other), why);
}

std::optional<Error> TransportByCalls::failure() {
  const std::scoped_lock lock(state_->mutex);
  return found();
}

bool TransportByCalls::is_busy() {
  const std::scoped_lock lock(state_->mutex);
  return state_->in_calls > 0;
}

}  // namespace

std::unique_ptr<Transport> transport_by_calls(WaitingCalls calls, int rank, int size) {
  return std::make_unique<TransportByCalls>(std::move(calls), rank, size);
}

}  // namespace polypath::communicator
