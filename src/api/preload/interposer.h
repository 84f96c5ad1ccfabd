#pragma once
// The one place that decides what becomes of a program's copy. The exported functions ask it, and
// make the real call for everything that it does not take.

#include <atomic>
#include <mutex>
#include <optional>

#include "api/preload/copy_gate.h"
#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "api/preload/session_start.h"
#include "core/settings.h"
#include "driver/trace/nvtx.h"
#include "engine/load/running_transfers.h"

namespace polypath::preload {

struct TracedCopy;

/// The program's own call, for code that has to do something before and after it. It refers to the
/// callable, which has to live longer.
class RealCall {
 public:
  template <class Call>
  explicit RealCall(const Call& call)
      : call_(&call), make_([](const void* made) { return (*static_cast<const Call*>(made))(); }) {}
  cuda::Result operator()() const { return make_(call_); }

 private:
  const void* call_;
  cuda::Result (*make_)(const void*);
};

/// Thread-safe. Does nothing before the program's first copy, and reads the settings then; machine,
/// driver and engine follow at the first copy that is not small. Anything that goes wrong on the
/// way is said once on stderr, and every copy goes to the driver as it is.
class Interposer {
 public:
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;

  /// This process's, never destroyed.
  static Interposer& get();

  /// True, and counted, for a copy that needs no further thought. The first copy does.
  [[nodiscard]] bool passes_at_once(Bytes bytes) {
    if (!gate_.passes(bytes)) return false;
    tally_.count(gate_.outcome(), bytes);
    return true;
  }
  /// True of a copy that the driver makes like those before it, and of which nothing is to be
  /// shown: it is made first, and then counted.
  [[nodiscard]] bool goes_first(const ProgramCopy& asked) noexcept;
  void count_native(const ProgramCopy& asked) noexcept;
  /// Makes the copy if it is one to be made over several paths, and says what the program's call is
  /// to return; nothing: the real call is to be made.
  /// Where there is a trace, `real` may have been made, between two events.
  [[nodiscard]] std::optional<cuda::Result> take(const ProgramCopy& asked,
                                                 const RealCall& real) noexcept;
  /// The same for a batch, all of it or nothing.
  [[nodiscard]] std::optional<cuda::Result> take(const ProgramBatch& asked) noexcept;
  /// Counts a call that is always the driver's.
  void count(Outcome outcome, Bytes bytes) noexcept;
  /// The newest transfer that may be in flight, for the two below; zero: none, or the call is
  /// Polypath's own. Before the program's call, so that what is issued meanwhile is no part of it.
  [[nodiscard]] TransferNumber newest_transfer() noexcept;
  /// The program's own call has found a stream idle, or all streams of a context, of the current
  /// one if null.
  void note_idle_stream(cuda::StreamPointer stream, TransferNumber newest) noexcept;
  void note_idle_context(cuda::ContextPointer context, TransferNumber newest) noexcept;
  /// The primary context of a GPU is about to be destroyed with everything in it. If there may be
  /// something of ours, every copy goes to the driver from here on.
  void contexts_reset() noexcept;
  /// The program is about to allocate so much memory of a GPU. A large allocation starts Polypath.
  void note_allocation(Bytes bytes) noexcept;
  /// For an allocation of the program that found no room: gives back memory of Polypath's own. True
  /// if there was any, and the program is to try again.
  [[nodiscard]] bool release_memory() noexcept;
  /// The program is about to free or unpin the memory that contains `address`: see
  /// Session::wait_for_copies_of.
  void wait_for_copies_of(Address address) noexcept;
  /// Counts where `polypath run --report` sees it, if it wants to. Before the first copy.
  void share_counts() noexcept;
  /// The counts that are shared are not needed any more.
  void has_reported() noexcept;
  [[nodiscard]] bool has_begun() const { return begun_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_off() const { return gate_.is_off(); }

 private:
  Interposer() = default;

  void begin() noexcept;
  template <class Asked>
  [[nodiscard]] std::optional<Outcome> consider(const Asked& asked, Bytes bytes) noexcept;
  [[nodiscard]] std::optional<TracedCopy> begin_traced(const ProgramCopy& asked,
                                                       Outcome outcome) noexcept;
  template <class Asked>
  [[nodiscard]] Fate decide(const Asked& asked) noexcept;
  void end() noexcept;
  void forked() noexcept;
  void share_counts_of_child() noexcept;

  CopyGate gate_;
  std::atomic<bool> begun_{false};
  std::mutex mutex_;  ///< held while it begins, and ends
  Settings settings_;
  SessionStart start_{gate_, settings_};
  std::atomic<bool> failed_{false};
  int process_ = 0;
  Tally tally_;
  std::atomic<const trace::Nvtx*> nvtx_{nullptr};  ///< null: names are not wanted
};

}  // namespace polypath::preload
