#include "engine/pageable/copy_threads.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/signals.h"
#include "engine/pageable/copy_queue.h"
#include "engine/pageable/streamed_copy.h"

namespace polypath::engine {
namespace {

// Small enough that a copy gives every thread something to do and that they end together. Pieces of
// 128 KiB, after which the thread that also sends windows is back sooner, reach a tenth less of 512
// MiB out of two GPUs (results/h200x2/pageable_windows.json).
constexpr Bytes kLeastThreadPiece = 64_KiB;
constexpr Bytes kLargestThreadPiece = 512_KiB;
constexpr std::uint64_t kPiecesPerThread = 2;
constexpr Bytes kPage = 4_KiB;

// How long a thread looks for more before it sleeps. Waking one takes tens of microseconds, longer
// than the gaps between the windows of one message.
constexpr std::chrono::microseconds kSpinTime{200};

}  // namespace

struct CopyThreads::State {
  CopyQueue queue;
  std::mutex adding;  ///< held by the one thread that adds to the queue
  std::mutex mutex;   ///< held by a thread that falls asleep, or wakes the others
  std::condition_variable more;
  std::atomic<int> asleep{0};
  std::atomic<bool> closing{false};
  std::atomic<std::uint64_t> active{1};  ///< threads that work, with the one that helps
  CpuSet cpus;                           ///< that they follow
  std::vector<std::thread> threads;

  bool copy_piece();
  bool wait_for_more(std::uint64_t number);
  void work(std::uint64_t number);
  void wake();
};

bool CopyThreads::State::copy_piece() {
  const std::optional<CopyQueue::Piece> piece = queue.take();
  if (!piece) return false;
  const MemoryCopy& copy = piece->copy;
  auto* const to = reinterpret_cast<std::byte*>(copy.destination.value);
  const auto* const from = reinterpret_cast<const std::byte*>(copy.source.value);
  if (copy.stores == Stores::past_caches) copy_past_caches(to, from, copy.bytes.value);
  else std::memcpy(to, from, copy.bytes.value);
  queue.note_done(*piece);
  return true;
}

// False if nothing will come any more. A thread counts as asleep before it looks for the last time,
// and the adding thread looks for sleepers after it has added: one of the two sees the other.
bool CopyThreads::State::wait_for_more(std::uint64_t number) {
  const auto has_work = [&] { return number < active && queue.has_untaken(); };
  const auto until = std::chrono::steady_clock::now() + kSpinTime;
  while (!has_work() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  std::unique_lock lock(mutex);
  ++asleep;
  more.wait(lock, [&] { return closing || has_work(); });
  --asleep;
  return has_work();
}

void CopyThreads::State::wake() {
  if (asleep == 0) return;
  { const std::scoped_lock lock(mutex); }
  more.notify_all();
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
  state_->closing = true;
  state_->wake();
  while (help()) {
  }
  for (std::thread& thread : state_->threads) thread.join();
}

void CopyThreads::follow(const CpuSet& cpus) {
  if (state_->cpus == cpus || cpus.count() == 0) return;
  state_->cpus = cpus;
  for (std::thread& thread : state_->threads) cpus.bind(thread.native_handle());
  const std::uint64_t all = state_->threads.size() + 1;
  state_->active = std::min<std::uint64_t>(all, static_cast<std::uint64_t>(cpus.threads()));
  state_->wake();
}

CopyThreads::Ticket CopyThreads::start(const MemoryCopy& copy) {
  const Bytes even{copy.bytes.value / (state_->active * kPiecesPerThread) / kPage.value *
                   kPage.value};
  const Bytes piece = std::clamp(even, kLeastThreadPiece, kLargestThreadPiece);
  const std::scoped_lock lock(state_->adding);
  std::optional<Ticket> ticket;
  while (!(ticket = state_->queue.add(copy, piece)))
    if (!help()) std::this_thread::yield();
  state_->wake();
  return *ticket;
}

bool CopyThreads::is_done(Ticket ticket) { return state_->queue.is_done(ticket); }

bool CopyThreads::help() { return state_->copy_piece(); }

void CopyThreads::finish() {
  while (help()) {
  }
  while (!state_->queue.is_all_done()) std::this_thread::yield();
}

}  // namespace polypath::engine
