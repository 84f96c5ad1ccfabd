#include "engine/pageable/copy_threads.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/signals.h"

namespace polypath::engine {
namespace {

// Small enough that a copy gives every thread something to do and that they end together, large
// enough that taking a piece (about 0.1 us) costs nothing.
constexpr Bytes kLeastThreadPiece = 64_KiB;
constexpr Bytes kLargestThreadPiece = 512_KiB;
constexpr std::uint64_t kPiecesPerThread = 2;
constexpr Bytes kPage = 4_KiB;

// How long a thread looks for more before it sleeps. Waking one takes tens of microseconds, longer
// than the gaps between the windows of one message.
constexpr std::chrono::microseconds kSpinTime{200};

struct Piece {
  CopyThreads::Ticket ticket;
  Address destination;
  Address source;
  Bytes bytes;
};

}  // namespace

struct CopyThreads::State {
  struct Copy {
    Address destination;
    Address source;
    Bytes bytes;
    Bytes piece;  ///< how much a thread takes at a time
    Bytes taken;
    Bytes done;
  };

  std::mutex mutex;
  std::condition_variable more;
  std::deque<Copy> copies;  ///< from the oldest that is not done on
  Ticket first = 0;         ///< of the oldest
  bool closing = false;
  std::atomic<std::uint64_t> untaken{0};  ///< bytes; changed under the mutex, read without it too
  std::atomic<std::uint64_t> active{1};   ///< threads that work, with the one that helps
  CpuSet cpus;                            ///< that they follow
  std::vector<std::thread> threads;

  std::optional<Piece> take();
  void note_done(const Piece& piece);
  bool copy_piece();
  bool wait_for_more(std::uint64_t number);
  void work(std::uint64_t number);
};

std::optional<Piece> CopyThreads::State::take() {
  const std::scoped_lock lock(mutex);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    Copy& copy = copies[i];
    if (copy.taken == copy.bytes) continue;
    const Bytes bytes = std::min(copy.piece, copy.bytes - copy.taken);
    const Piece piece{first + i, copy.destination + copy.taken, copy.source + copy.taken, bytes};
    copy.taken += bytes;
    untaken -= bytes.value;
    return piece;
  }
  return std::nullopt;
}

void CopyThreads::State::note_done(const Piece& piece) {
  const std::scoped_lock lock(mutex);
  copies[piece.ticket - first].done += piece.bytes;
  for (; !copies.empty() && copies.front().done == copies.front().bytes; ++first)
    copies.pop_front();
}

bool CopyThreads::State::copy_piece() {
  const std::optional<Piece> piece = take();
  if (!piece) return false;
  std::memcpy(reinterpret_cast<void*>(piece->destination.value),
              reinterpret_cast<const void*>(piece->source.value), piece->bytes.value);
  note_done(*piece);
  return true;
}

// False if nothing will come any more.
bool CopyThreads::State::wait_for_more(std::uint64_t number) {
  const auto until = std::chrono::steady_clock::now() + kSpinTime;
  while (untaken == 0 && number < active && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  std::unique_lock lock(mutex);
  more.wait(lock, [&] { return closing || (untaken > 0 && number < active); });
  return untaken > 0 && number < active;
}

void CopyThreads::State::work(std::uint64_t number) {
  do {
    while (number < active && copy_piece()) {
    }
  } while (wait_for_more(number));
}

CopyThreads::CopyThreads(int threads) : state_(std::make_unique<State>()), process_(getpid()) {
  State* state = state_.get();
  state->active = static_cast<std::uint64_t>(std::max(threads, 1));
  const ThreadSignals signals;
  try {
    for (std::uint64_t i = 1; i < state->active; ++i)
      state->threads.emplace_back([state, i] { state->work(i); });
  } catch (const std::system_error&) {
    // Those there are do it alone.
  }
}

CopyThreads::~CopyThreads() {
  if (getpid() != process_) {
    // In a forked child joining would wait for ever, and so may destroying a lock that a thread
    // held.
    (void)state_.release();
    return;
  }
  {
    const std::scoped_lock lock(state_->mutex);
    state_->closing = true;
  }
  state_->more.notify_all();
  while (help()) {
  }
  for (std::thread& thread : state_->threads) thread.join();
}

void CopyThreads::follow(const CpuSet& cpus) {
  if (state_->cpus == cpus || cpus.count() == 0) return;
  state_->cpus = cpus;
  for (std::thread& thread : state_->threads) cpus.bind(thread.native_handle());
  const std::uint64_t all = state_->threads.size() + 1;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->active = std::min<std::uint64_t>(all, static_cast<std::uint64_t>(cpus.threads()));
  }
  state_->more.notify_all();
}

CopyThreads::Ticket CopyThreads::start(Address destination, Address source, Bytes bytes) {
  const Bytes even{bytes.value / (state_->active * kPiecesPerThread) / kPage.value * kPage.value};
  const Bytes piece = std::clamp(even, kLeastThreadPiece, kLargestThreadPiece);
  Ticket ticket = 0;
  {
    const std::scoped_lock lock(state_->mutex);
    ticket = state_->first + state_->copies.size();
    state_->copies.push_back({destination, source, bytes, piece, {}, {}});
    state_->untaken += bytes.value;
  }
  state_->more.notify_all();
  return ticket;
}

bool CopyThreads::is_done(Ticket ticket) {
  const std::scoped_lock lock(state_->mutex);
  if (ticket < state_->first) return true;
  const State::Copy& copy = state_->copies[ticket - state_->first];
  return copy.done == copy.bytes;
}

bool CopyThreads::help() { return state_->copy_piece(); }

void CopyThreads::finish() {
  while (help()) {
  }
  const auto empty = [this] {
    const std::scoped_lock lock(state_->mutex);
    return state_->copies.empty();
  };
  while (!empty()) std::this_thread::yield();
}

}  // namespace polypath::engine
