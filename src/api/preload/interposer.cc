#include "api/preload/interposer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

#include "api/preload/busy.h"
#include "api/preload/process_report.h"
#include "api/preload/session.h"
#include "api/preload/shared_counts.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "core/text.h"
#include "driver/cuda/imports.h"

namespace polypath::preload {
namespace {

// It starts beside allocations where the program allocates so much at once. Cost: these are held up
// by up to 2.4 ms, once (H200).
constexpr Bytes kTellsOfCopies = 256_MiB;

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
  if (Busy::is_this_thread()) {
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

bool Interposer::goes_first(const ProgramCopy& asked) noexcept {
  Session* const session = start_.session();
  return session != nullptr && !is_off() && !Busy::is_this_thread() &&
         trace::Recorder::of_process() == nullptr &&
         nvtx_.load(std::memory_order_relaxed) == nullptr && session->natives().goes_first(asked);
}

void Interposer::count_native(const ProgramCopy& asked) noexcept {
  const Busy guard;
  Fate fate = Outcome::native;
  (void)ignore_errors([&] { fate = start_.session()->natives().count(asked); });
  tally_.count(fate, asked.bytes);
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
  Session* const session = start_.session();
  const bool may_be_timed = outcome == Outcome::native || outcome == Outcome::same_memory ||
                            outcome == Outcome::pageable || outcome == Outcome::few_cpus;
  if (recorder == nullptr || session == nullptr || !may_be_timed) return std::nullopt;
  const Busy guard;
  return session->begin_traced(asked, *recorder);
}

template <class Asked>
Fate Interposer::decide(const Asked& asked) noexcept {
  if (is_off()) return Outcome::off;
  if (start_.session() == nullptr && !start_.has_begun()) start_.begin_for(asked);
  Session* session = start_.session();
  if (session == nullptr) {
    if (is_off()) return Outcome::off;
    start_.note_early(asked);
    return Outcome::preparing;
  }
  try {
    return session->copy(asked);
  } catch (const UnsettledError& error) {
    // Pieces may run at any time from now on: a native copy, or one of the next, would race.
    gate_.turn_off(
        fmt::format("part of a copy can neither be finished nor waited for: {}", error.what()),
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
    if (settings_.prepare == "never") gate_.turn_off("POLYPATH_PREPARE is never");
    set_log_level(settings_.log_level);
    if (settings_.nvtx) nvtx_ = trace::Nvtx::find();
    if (!is_off()) gate_.pass_below(start_.begin_below());
  } catch (const std::exception& error) {
    gate_.turn_off(error.what(), "it could not start");
  }
  std::atexit([] { get().end(); });
  begun_.store(true, std::memory_order_release);
}

TransferNumber Interposer::newest_transfer() noexcept {
  Session* const session = start_.session();
  const bool looks = session != nullptr && !is_off() && !Busy::is_this_thread();
  return looks ? session->newest_transfer() : 0;
}

void Interposer::note_idle_stream(cuda::StreamPointer stream, TransferNumber newest) noexcept {
  if (is_off()) return;
  const Busy guard;
  ignore_errors([&] { start_.session()->idle_streams().note(stream, newest); });
}

void Interposer::note_idle_context(cuda::ContextPointer context, TransferNumber newest) noexcept {
  if (is_off()) return;
  const Busy guard;
  ignore_errors([&] { start_.session()->idle_streams().note_all_of(context, newest); });
}

// Before Polypath has started, no copy of ours has anything in a context.
void Interposer::contexts_reset() noexcept {
  cuda::Imports::of_process().abandon();
  if (!start_.has_begun()) return;
  gate_.turn_off("the program has reset a GPU");
  start_.stop_preparing();
  if (trace::Recorder* recorder = trace::Recorder::of_process()) recorder->finish();
}

void Interposer::note_allocation(Bytes bytes) noexcept {
  start_.note_allocation();
  if (Session* session = start_.session()) return session->note_allocation();
  if (bytes < kTellsOfCopies || Busy::is_this_thread() || start_.has_begun()) return;
  const Busy guard;
  if (!begun_.load(std::memory_order_acquire)) begin();
  if (!is_off() && !gate_.passes(bytes)) start_.begin_at_once();
}

bool Interposer::release_memory() noexcept {
  Session* session = start_.session();
  if (Busy::is_this_thread() || is_off() || session == nullptr) return false;
  const Busy guard;
  return session->release_memory();
}

void Interposer::wait_for_copies_of(Address address) noexcept {
  Session* session = start_.session();
  if (Busy::is_this_thread() || is_off() || session == nullptr) return;
  const Busy guard;
  session->wait_for_copies_of(address);
}

// The engine stays as it is: other threads may be in it, and CUDA may go before it.
void Interposer::end() noexcept {
  if (getpid() != process_) return;
  start_.stop_preparing();
  const std::scoped_lock lock(mutex_);
  if (settings_.statistics.wanted && send_statistics(tally_, gate_.why_off())) has_reported();
  gate_.turn_off("the process ends");
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
  gate_.turn_off_in_child("it is a forked child");
  tally_.clear();
}

}  // namespace polypath::preload
