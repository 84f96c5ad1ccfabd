#pragma once
// The implementation of handle_board.h, over any kind of shared words (shared_words.h).

#include <cstring>
#include <utility>

#include "communicator/node/handle_board.h"

namespace polypath::communicator {

// Change counters of all ranks, then published handles rank by rank, then answers reader by reader.
template <class Shared>
std::size_t HandleBoardOn<Shared>::bytes_for(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return n * sizeof(std::uint64_t) + n * kMost * sizeof(Notice) +
         n * n * kMost * sizeof(std::uint64_t);
}

template <class Shared>
HandleBoardOn<Shared>::HandleBoardOn(void* memory, int ranks, int local)
    : memory_(memory), ranks_(ranks), local_(local), seen_(static_cast<std::size_t>(ranks)) {}

template <class Shared>
auto HandleBoardOn<Shared>::changes(int rank) const -> Word<std::uint64_t>& {
  return static_cast<Word<std::uint64_t>*>(memory_)[rank];
}

template <class Shared>
auto HandleBoardOn<Shared>::notice(int rank, int number) const -> Notice& {
  return reinterpret_cast<Notice*>(&changes(ranks_))[rank * kMost + number];
}

template <class Shared>
auto HandleBoardOn<Shared>::answer_of(int reader, int rank, int number) const
    -> Word<std::uint64_t>& {
  auto* const answers = reinterpret_cast<Word<std::uint64_t>*>(&notice(ranks_, 0));
  return answers[(reader * ranks_ + rank) * kMost + number];
}

template <class Shared>
bool HandleBoardOn<Shared>::is_answered(int number) const {
  const std::uint64_t edition = editions_[static_cast<std::size_t>(number)];
  for (int reader = 0; reader < ranks_; ++reader)
    if (reader != local_ &&
        answer_of(reader, local_, number).load(std::memory_order_acquire) >> 1 != edition)
      return false;
  return true;
}

template <class Shared>
bool HandleBoardOn<Shared>::is_acked_by_all(int number) const {
  const std::uint64_t yes = editions_[static_cast<std::size_t>(number)] << 1 | 1;
  for (int reader = 0; reader < ranks_; ++reader)
    if (reader != local_ &&
        answer_of(reader, local_, number).load(std::memory_order_acquire) != yes)
      return false;
  return true;
}

template <class Shared>
bool HandleBoardOn<Shared>::is_refused(int number) const {
  const std::uint64_t no = editions_[static_cast<std::size_t>(number)] << 1;
  for (int reader = 0; reader < ranks_; ++reader)
    if (reader != local_ && answer_of(reader, local_, number).load(std::memory_order_acquire) == no)
      return true;
  return false;
}

// As records of a control block: a word of a later edition brings along the 0 stored before it.
template <class Shared>
void HandleBoardOn<Shared>::write(int number, const Blob& bytes) {
  Notice& own = notice(local_, number);
  own.edition.store(0, std::memory_order_relaxed);
  std::array<std::uint64_t, kWords> words{};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < kWords; ++i) own.words[i].store(words[i], std::memory_order_release);
  own.bytes.store(bytes.size(), std::memory_order_release);
  own.edition.store(++editions_[static_cast<std::size_t>(number)], std::memory_order_release);
  changes(local_).fetch_add(1, std::memory_order_release);
}

template <class Shared>
std::optional<int> HandleBoardOn<Shared>::publish(const Blob& bytes) {
  if (bytes.size() > kMostBytes) return std::nullopt;
  for (int number = 0; number < kMost; ++number) {
    bool& is_said = is_said_[static_cast<std::size_t>(number)];
    if (is_said || (editions_[static_cast<std::size_t>(number)] > 0 && !is_answered(number)))
      continue;
    write(number, bytes);
    is_said = true;
    return number;
  }
  return std::nullopt;
}

template <class Shared>
void HandleBoardOn<Shared>::take_back(int number) {
  write(number, {});
  is_said_[static_cast<std::size_t>(number)] = false;
}

template <class Shared>
auto HandleBoardOn<Shared>::read(int rank, int number) const -> std::optional<Update> {
  const Notice& theirs = notice(rank, number);
  Update news{rank, number, theirs.edition.load(std::memory_order_acquire), {}};
  const std::uint64_t answered = answer_of(local_, rank, number).load(std::memory_order_relaxed);
  if (news.edition == 0 || answered >> 1 == news.edition) return std::nullopt;
  std::array<std::uint64_t, kWords> words;
  const std::uint64_t bytes = theirs.bytes.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kWords; ++i)
    words[i] = theirs.words[i].load(std::memory_order_acquire);
  if (theirs.edition.load(std::memory_order_relaxed) != news.edition || bytes > kMostBytes)
    return std::nullopt;
  news.bytes.resize(bytes);
  std::memcpy(news.bytes.data(), words.data(), bytes);
  return news;
}

// A handle that changes while it is read is counted later, and so read again.
template <class Shared>
auto HandleBoardOn<Shared>::poll() -> std::vector<Update> {
  std::vector<Update> all;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == local_) continue;
    const std::uint64_t now = changes(rank).load(std::memory_order_acquire);
    if (now == seen_[static_cast<std::size_t>(rank)]) continue;
    for (int number = 0; number < kMost; ++number)
      if (auto each = read(rank, number)) all.push_back(std::move(*each));
    seen_[static_cast<std::size_t>(rank)] = now;
  }
  return all;
}

template <class Shared>
void HandleBoardOn<Shared>::acknowledge(const Update& news, bool is_taken) {
  answer_of(local_, news.from, news.number)
      .store(news.edition << 1 | (is_taken ? 1 : 0), std::memory_order_release);
}

}  // namespace polypath::communicator
