#include "preload/interposer.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "core/error.h"
#include "core/log.h"
#include "driver/cuda/imports.h"
#include "preload/session.h"

namespace polypath::preload {
namespace {

// Set while this thread plans or makes a copy: what the driver calls back meanwhile is its own.
thread_local bool busy = false;

class Busy {
 public:
  Busy() { busy = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { busy = false; }
};

}  // namespace

Interposer& Interposer::get() {
  static auto& interposer = *new Interposer;
  return interposer;
}

bool Interposer::take(const ProgramCopy& asked) noexcept {
  if (busy) {
    tally_.count(Outcome::nested, asked.bytes);
    return false;
  }
  const Busy guard;
  if (!begun_.load(std::memory_order_acquire)) begin();
  if (passes_at_once(asked.bytes)) return false;
  const Outcome outcome = decide(asked);
  tally_.count(outcome, asked.bytes);
  return static_cast<std::size_t>(outcome) < kAccelerated;
}

Outcome Interposer::decide(const ProgramCopy& asked) noexcept {
  if (is_off()) return Outcome::off;
  if (session_.load(std::memory_order_acquire) == nullptr) start();
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr) return is_off() ? Outcome::off : Outcome::starting;
  try {
    return session->copy(asked);
  } catch (const std::exception& error) {
    // Said once: a program makes the same copy again and again.
    log(failed_.exchange(true) ? LogLevel::debug : LogLevel::warning,
        std::string("one native copy instead of several paths: ") + error.what());
    return Outcome::failed;
  }
}

void Interposer::count(Outcome outcome, Bytes bytes) noexcept {
  if (!begun_.load(std::memory_order_acquire)) begin();
  tally_.count(outcome, bytes);
}

// Reads the settings and nothing more.
void Interposer::begin() noexcept {
  const std::scoped_lock lock(mutex_);
  if (begun_.load(std::memory_order_relaxed)) return;
  process_ = getpid();
  pthread_atfork(nullptr, nullptr, [] { get().forked(); });
  try {
    settings_ = read_settings();
    set_log_level(settings_.log_level);
    if (!is_off()) pass_below_.store(settings_.min_message.value, std::memory_order_release);
  } catch (const std::exception& error) {
    complain(error.what());
  }
  std::atexit([] { get().end(); });
  begun_.store(true, std::memory_order_release);
}

// One thread starts; the copies of others meanwhile go as they are.
void Interposer::start() noexcept {
  if (starting_.exchange(true)) return;
  try {
    session_.store(new Session(settings_), std::memory_order_release);
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    complain(error.what());
  }
}

// The caller holds the lock.
void Interposer::complain(const std::string& problem) noexcept {
  std::fprintf(stderr, "polypath: %s All copies of process %d are left to the driver.\n",
               problem.c_str(), process_);
  turn_off("it could not start");
}

void Interposer::turn_off(const char* why) noexcept {
  if (!is_off()) why_off_ = why;
  is_off_.store(true, std::memory_order_release);
  pass_as_.store(Outcome::off, std::memory_order_relaxed);
  pass_below_.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_release);
}

// Before Polypath has started, no copy of ours has anything in a context.
void Interposer::contexts_reset() noexcept {
  cuda::Imports::of_process().abandon();
  if (!starting_.load()) return;
  const std::scoped_lock lock(mutex_);
  turn_off("the program has reset a GPU");
}

// The engine stays as it is: other threads may be in it, and CUDA may go before it.
void Interposer::end() noexcept {
  if (getpid() != process_) return;
  const std::scoped_lock lock(mutex_);
  if (settings_.statistics) std::fputs(tally_.table(process_, why_off_).c_str(), stderr);
  turn_off("the process ends");
}

// A child has its parent's memory, but neither its GPUs nor its other threads: locks may be held
// for ever, so none is taken.
void Interposer::forked() noexcept {
  turn_off("it is a forked child");
  tally_.clear();
}

}  // namespace polypath::preload
