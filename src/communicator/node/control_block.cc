#include "communicator/node/control_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "core/text.h"

namespace polypath::communicator {
namespace {

constexpr std::size_t kLine = 64;  // bytes of a cache line
constexpr std::size_t kStampsPerLine = kLine / sizeof(std::uint64_t);

// Rounded up to whole lines.
std::size_t stamps_per_call(int ranks) {
  return (static_cast<std::size_t>(ranks) + kStampsPerLine - 1) / kStampsPerLine * kStampsPerLine;
}

}  // namespace

/// The state of the abort record: 0 while there is none, then its writer, then its writer and that
/// it is complete.
struct alignas(kLine) ControlBlock::Header {
  static constexpr std::uint32_t kComplete = 1U << 31;
  static constexpr std::size_t kMostText = 2048 - 3 * sizeof(std::uint32_t);

  std::atomic<std::uint32_t> writer;  ///< its rank + 1
  std::uint32_t code;
  std::uint32_t length;
  std::array<char, kMostText> why;
};

struct alignas(kLine) ControlBlock::Seat {
  std::atomic<CallNumber> entered;
  std::atomic<CallNumber> over;
  std::atomic<std::uint32_t> settled;
  std::atomic<std::uint32_t> left;
};

/// The call is 0 while the words change.
struct ControlBlock::Record {
  std::atomic<CallNumber> call;
  std::array<std::atomic<std::uint64_t>, kCallWords> words;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");

std::size_t ControlBlock::bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return sizeof(Header) + n * sizeof(Seat) +
         kCalls * stamps_per_call(ranks) * sizeof(std::uint64_t) + n * kCalls * sizeof(Record) +
         AgreementRing::bytes_for(ranks) + HandleBoard::bytes_for(ranks);
}

ControlBlock::ControlBlock(NamedMemory memory, int ranks)
    : memory_(std::move(memory)), ranks_(ranks) {}

ControlBlock::Header& ControlBlock::header() const { return *static_cast<Header*>(memory_.data()); }

ControlBlock::Seat& ControlBlock::seat(int rank) const {
  return reinterpret_cast<Seat*>(&header() + 1)[rank];
}

std::atomic<std::uint64_t>& ControlBlock::stamp_at(int rank, CallNumber call) const {
  auto* stamps = reinterpret_cast<std::atomic<std::uint64_t>*>(&seat(ranks_));
  return stamps[call % kCalls * stamps_per_call(ranks_) + static_cast<std::size_t>(rank)];
}

ControlBlock::Record& ControlBlock::record_at(int rank, CallNumber call) const {
  auto* records = reinterpret_cast<Record*>(&stamp_at(0, 0) + kCalls * stamps_per_call(ranks_));
  return records[static_cast<std::size_t>(rank) * kCalls + call % kCalls];
}

// The record first: a rank that sees the stamp must find the record.
void ControlBlock::publish(int rank, CallNumber call, Stamp stamp, const CallWords& words) {
  Record& record = record_at(rank, call);
  record.call.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words.size(); ++i)
    record.words[i].store(words[i], std::memory_order_release);
  record.call.store(call, std::memory_order_release);
  stamp_at(rank, call).store(stamp.bits, std::memory_order_seq_cst);
  seat(rank).entered.store(call, std::memory_order_seq_cst);
}

Stamp ControlBlock::stamp_of(int rank, CallNumber call) const {
  return {stamp_at(rank, call).load(std::memory_order_seq_cst)};
}

// A word of a later call brings along the 0 that was stored before it.
std::optional<CallRecord> ControlBlock::call_of(int rank, CallNumber call) const {
  const Record& record = record_at(rank, call);
  if (record.call.load(std::memory_order_acquire) != call) return std::nullopt;
  CallWords words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = record.words[i].load(std::memory_order_acquire);
  if (record.call.load(std::memory_order_relaxed) != call) return std::nullopt;
  return communicator::call_of(words);
}

CallNumber ControlBlock::entered(int rank) const {
  return seat(rank).entered.load(std::memory_order_acquire);
}

bool ControlBlock::abort(int rank, ErrorCode code, const std::string& why) {
  Header& record = header();
  std::uint32_t nobody = 0;
  const auto writer = static_cast<std::uint32_t>(rank) + 1;
  if (!record.writer.compare_exchange_strong(nobody, writer)) return false;
  record.code = static_cast<std::uint32_t>(code);
  record.length = static_cast<std::uint32_t>(std::min(why.size(), record.why.size()));
  std::memcpy(record.why.data(), why.data(), record.length);
  record.writer.store(writer | Header::kComplete, std::memory_order_release);
  return true;
}

bool ControlBlock::is_aborted() const {
  return header().writer.load(std::memory_order_seq_cst) != 0;
}

// Writing takes a moment; a rank that is killed meanwhile never completes it.
std::optional<Abort> ControlBlock::aborted() const {
  constexpr int kTries = 100;
  constexpr std::chrono::microseconds kBetweenTries{100};
  const Header& record = header();
  std::uint32_t writer = record.writer.load(std::memory_order_acquire);
  if (writer == 0) return std::nullopt;
  for (int i = 0; i < kTries && (writer & Header::kComplete) == 0; ++i) {
    std::this_thread::sleep_for(kBetweenTries);
    writer = record.writer.load(std::memory_order_acquire);
  }
  const int rank = static_cast<int>(writer & ~Header::kComplete) - 1;
  if ((writer & Header::kComplete) == 0)
    return Abort{rank, ErrorCode::communicator,
                 fmt::format("Local rank {} gave up (it ended before it could say why)", rank)};
  const std::size_t length = std::min<std::size_t>(record.length, record.why.size());
  return Abort{rank, error_code_of(record.code), valid_text({record.why.data(), length})};
}

std::byte* ControlBlock::behind_records() const {
  return reinterpret_cast<std::byte*>(&record_at(ranks_, kCalls));
}

AgreementRing ControlBlock::offers(int rank) const { return {behind_records(), ranks_, rank}; }
HandleBoard ControlBlock::notices(int rank) const {
  return {behind_records() + AgreementRing::bytes_for(ranks_), ranks_, rank};
}

void ControlBlock::note_over(int rank, CallNumber call) {
  seat(rank).over.store(call, std::memory_order_release);
}
void ControlBlock::note_settled(int rank) {
  seat(rank).settled.store(1, std::memory_order_release);
}

// A rank that enters a call publishes that first, and then checks again for an abort. Of the two
// ranks, each of which writes and then reads, one at least sees the other.
bool ControlBlock::is_settled(int rank) const {
  const Seat& asked = seat(rank);
  if (asked.settled.load(std::memory_order_acquire) != 0 || !lives(rank)) return true;
  const CallNumber entered = asked.entered.load(std::memory_order_seq_cst);
  return asked.over.load(std::memory_order_acquire) == entered;
}

void ControlBlock::leave(int rank) { seat(rank).left.store(1, std::memory_order_release); }
bool ControlBlock::has_left(int rank) const {
  return seat(rank).left.load(std::memory_order_acquire) != 0;
}
bool ControlBlock::lives(int rank) const { return memory_.is_held(static_cast<std::size_t>(rank)); }

}  // namespace polypath::communicator
