#include "api/preload/interposer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>

#include "api/preload/process_report.h"
#include "api/preload/real_driver.h"
#include "api/preload/session.h"
#include "api/preload/shared_counts.h"
#include "core/cpus.h"
#include "core/error.h"
#include "core/log.h"
#include "core/standard_error.h"
#include "core/text.h"
#include "driver/cuda/imports.h"
#include "engine/prepare/preparation_budget.h"
#include "machine/driver_behaviour.h"

namespace polypath::preload {
namespace {

// Set while this thread plans or makes a copy: calls that come back from the driver meanwhile are
// Polypath's own.
thread_local bool busy = false;

// A thread that starts costs allocations 1.2 ms, and NVML asked from it another (of 39.5 ms, 32
// allocations and copies of 64 MiB; two H200s, results/h200x2/first_pinned.json). So that waits
// until the program does not allocate, but no longer than kLongestWait.
constexpr Seconds kLongestWait = 500'000_us, kLook = 5'000_us;
// It starts beside allocations where the program allocates so much at once. Cost: these are held up
// by up to 2.4 ms, once (H200).
constexpr Bytes kTellsOfCopies = 256_MiB;

Seconds now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(since).count()};
}

class Busy {
 public:
  Busy() { busy = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { busy = false; }
};

// The result that the program's call returns; none: the driver's function is to be called.
std::optional<cuda::Result> result_of(Outcome outcome) {
  if (outcome == Outcome::unsettled) return cuda::kUnknownError;
  if (is_made(outcome)) return cuda::kSuccess;
  return std::nullopt;
}

// A call of the program as the trace and NVIDIA's profilers show it, if either is on.
class ShownCall {
 public:
  ShownCall(const trace::Nvtx* nvtx, Bytes bytes)
      : recorder_(trace::Recorder::of_process()), nvtx_(nvtx), bytes_(bytes) {
    if (recorder_ != nullptr) begin_ = recorder_->driver().now();
    if (nvtx_ != nullptr) nvtx_->push(("polypath: copy of " + describe_bytes(bytes)).c_str());
  }
  ShownCall(const ShownCall&) = delete;
  ShownCall& operator=(const ShownCall&) = delete;
  ~ShownCall() {
    if (nvtx_ != nullptr) nvtx_->pop();
  }
  void end(Outcome outcome, const ProgramCopy& first) {
    if (recorder_ == nullptr) return;
    const auto hexadecimal = [](std::uintptr_t value) { return fmt::format("0x{:x}", value); };
    recorder_->note(
        {.name = describe_bytes(bytes_) + ": " + text_of(outcome),
         .begin = begin_,
         .end = recorder_->driver().now(),
         .details = {{"destination", hexadecimal(first.destination.value)},
                     {"source", hexadecimal(first.source.value)},
                     {"stream", hexadecimal(reinterpret_cast<std::uintptr_t>(first.stream))}}});
  }

 private:
  trace::Recorder* recorder_;
  const trace::Nvtx* nvtx_;
  Bytes bytes_;
  Seconds begin_;
};

}  // namespace

Interposer& Interposer::get() {
  static auto& interposer = *new Interposer;
  return interposer;
}

// None for the driver's own copies, and for copies that need no further decision.
template <class Asked>
std::optional<Outcome> Interposer::consider(const Asked& asked, Bytes bytes) noexcept {
  if (busy) {
    tally_.count(Outcome::nested, bytes);
    return std::nullopt;
  }
  const Busy guard;
  if (!begun_.load(std::memory_order_acquire)) begin();
  if (passes_at_once(bytes)) return std::nullopt;
  const Fate fate = decide(asked);
  tally_.count(fate, bytes);
  return fate.outcome;
}

std::optional<cuda::Result> Interposer::take(const ProgramCopy& asked,
                                             const RealCall& real) noexcept {
  ShownCall shown(nvtx_.load(std::memory_order_acquire), asked.bytes);
  const std::optional<Outcome> outcome = consider(asked, asked.bytes);
  if (!outcome) return std::nullopt;
  std::optional<cuda::Result> result = result_of(*outcome);
  if (!result)
    if (std::optional<TracedCopy> traced = begin_traced(asked, *outcome)) {
      result = real();
      trace::Recorder::of_process()->end(traced->begun, traced->work, 0);
    }
  shown.end(*outcome, asked);
  return result;
}

std::optional<cuda::Result> Interposer::take(const ProgramBatch& asked) noexcept {
  ShownCall shown(nvtx_.load(std::memory_order_acquire), asked.bytes());
  const std::optional<Outcome> outcome = consider(asked, asked.bytes());
  if (!outcome) return std::nullopt;
  shown.end(*outcome, asked.copy(0));
  return result_of(*outcome);
}

// None without a recorder, and for the outcomes that require the stream to be left alone.
std::optional<TracedCopy> Interposer::begin_traced(const ProgramCopy& asked,
                                                   Outcome outcome) noexcept {
  trace::Recorder* const recorder = trace::Recorder::of_process();
  Session* const session = session_.load(std::memory_order_acquire);
  const bool may_be_timed = outcome == Outcome::native || outcome == Outcome::same_memory ||
                            outcome == Outcome::pageable || outcome == Outcome::few_cpus;
  if (recorder == nullptr || session == nullptr || !may_be_timed) return std::nullopt;
  const Busy guard;
  return session->begin_traced(asked, *recorder);
}

template <class Asked>
Fate Interposer::decide(const Asked& asked) noexcept {
  if (is_off()) return Outcome::off;
  if (session_.load(std::memory_order_acquire) == nullptr && !starting_.load())
    start(hurries(asked));
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr) return is_off() ? Outcome::off : Outcome::preparing;
  try {
    return session->copy(asked);
  } catch (const UnsettledError& error) {
    // Pieces may run at any time from now on: a native copy, or one of the next, would race.
    const std::scoped_lock lock(mutex_);
    complain(fmt::format("part of a copy can neither be finished nor waited for: {}", error.what()),
             "a copy was left unfinished");
    return Outcome::unsettled;
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
  share_counts();
  pthread_atfork(nullptr, nullptr, [] { get().forked(); });
  try {
    settings_ = read_settings();
    if (settings_.prepare == "auto") settings_.prepare = "background";
    if (settings_.prepare == "never") turn_off("POLYPATH_PREPARE is never");
    set_log_level(settings_.log_level);
    if (settings_.nvtx) nvtx_ = trace::Nvtx::find();
    if (!is_off()) pass_below_.store(begin_below().value, std::memory_order_release);
  } catch (const std::exception& error) {
    complain(error.what(), "it could not start");
  }
  std::atexit([] { get().end(); });
  begun_.store(true, std::memory_order_release);
}

// The machine may have uses for smaller copies; that is found out when there is a larger one.
Bytes Interposer::begin_below() const { return settings_.min_message.value_or(kAlwaysPlanned); }

// True of a copy for which it pays to begin beside allocations: of pageable memory, where there are
// CPUs enough for windows, by which 256 MiB take a sixth of the time (results/h100x2/windows.json).
bool Interposer::hurries(const ProgramCopy& copy) const {
  const bool pays = settings_.copy_threads > 0 ||
                    CpuSet::of_caller().threads() >= DriverBehaviour{}.windows_threads_least;
  return pays && (is_pageable(copy.source) || is_pageable(copy.destination));
}

// Once. Until there is a session, copies go as they are.
void Interposer::start(bool at_once) noexcept {
  if (starting_.exchange(true)) return;
  try {
    if (settings_.prepare == "now") make_session();
    else
      background_.post([this, at_once] {
        const Busy guard;
        if (at_once || waits_for_allocations()) make_session();
      });
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    complain(error.what(), "it could not start");
  }
}

// In the background. False if the program ends meanwhile.
bool Interposer::waits_for_allocations() {
  const Seconds begin = now();
  const auto goes_on = [&] {
    const Seconds last{last_allocation_.load(std::memory_order_relaxed)};
    return now() - last < kStillAllocates && now() - begin < kLongestWait;
  };
  while (goes_on())
    if (!background_.pause(kLook)) return false;
  return true;
}

void Interposer::make_session() noexcept {
  try {
    auto* session = new Session(settings_);
    session_.store(session, std::memory_order_release);
    // Unless everything passes by now.
    std::uint64_t begun_with = begin_below().value;
    pass_below_.compare_exchange_strong(begun_with, session->smallest_planned().value);
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    complain(error.what(), "it could not start");
  }
}

// The caller holds the lock.
void Interposer::complain(const std::string& problem, const char* why_off) noexcept {
  try {
    write_to_stderr(fmt::format("polypath: {} All copies of process {} are left to the driver.\n",
                                problem, process_));
  } catch (const std::exception&) {
    // Without memory for the words the copies are native all the same.
  }
  turn_off(why_off);
}

void Interposer::turn_off(const char* why) noexcept {
  if (!is_off()) {
    why_off_ = why;
    SharedCounts::of_process().note_off(why);
  }
  is_off_.store(true, std::memory_order_release);
  pass_as_.store(Outcome::off, std::memory_order_relaxed);
  pass_below_.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_release);
}

// Before Polypath has started, no copy of ours has anything in a context.
void Interposer::contexts_reset() noexcept {
  cuda::Imports::of_process().abandon();
  if (!starting_.load()) return;
  {
    const std::scoped_lock lock(mutex_);
    turn_off("the program has reset a GPU");
  }
  stop_preparing();
  if (trace::Recorder* recorder = trace::Recorder::of_process()) recorder->finish();
}

// Of much memory: large copies are to come, perhaps many at once, and the first of them is to find
// everything ready that tells what the others are worth.
void Interposer::note_allocation(Bytes bytes) noexcept {
  last_allocation_.store(now().value, std::memory_order_relaxed);
  if (Session* session = session_.load(std::memory_order_acquire))
    return session->note_allocation();
  if (bytes < kTellsOfCopies || busy || starting_.load()) return;
  const Busy guard;
  if (!begun_.load(std::memory_order_acquire)) begin();
  if (!is_off() && bytes.value >= pass_below_.load(std::memory_order_acquire)) start(true);
}

bool Interposer::release_memory() noexcept {
  Session* session = session_.load(std::memory_order_acquire);
  if (busy || is_off() || session == nullptr) return false;
  const Busy guard;
  return session->release_memory();
}

void Interposer::wait_for_copies_of(Address address) noexcept {
  Session* session = session_.load(std::memory_order_acquire);
  if (busy || is_off() || session == nullptr) return;
  const Busy guard;
  session->wait_for_copies_of(address);
}

// Nothing of ours calls the driver any more but the calls of other threads that are under way.
void Interposer::stop_preparing() noexcept {
  background_.stop();
  if (Session* session = session_.load(std::memory_order_acquire)) session->stop_preparing();
}

// The engine stays as it is: other threads may be in it, and CUDA may go before it.
void Interposer::end() noexcept {
  if (getpid() != process_) return;
  stop_preparing();
  const std::scoped_lock lock(mutex_);
  if (settings_.statistics.wanted && send_statistics(tally_, why_off_)) has_reported();
  turn_off("the process ends");
}

void Interposer::share_counts() noexcept {
  SharedCounts& shared = SharedCounts::of_process();
  if (shared.counts() != nullptr) return;
  shared.attach();
  if (shared.counts() == nullptr) return;
  tally_.count_in(shared.counts());
  pthread_atfork(nullptr, nullptr, [] { get().share_counts_of_child(); });
}

void Interposer::has_reported() noexcept {
  tally_.count_in(nullptr);
  SharedCounts::of_process().give_back();
}

// Before forked(): that sets counts to zero, which must not be the parent's.
void Interposer::share_counts_of_child() noexcept {
  SharedCounts& shared = SharedCounts::of_process();
  shared.take_for_child();
  tally_.count_in(shared.counts());
}

// A child has its parent's memory, but neither its GPUs nor its other threads: locks may be held
// for ever, so none is taken.
void Interposer::forked() noexcept {
  turn_off("it is a forked child");
  tally_.clear();
}

}  // namespace polypath::preload
