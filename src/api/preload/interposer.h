#pragma once
// The one place that decides what becomes of a program's copy. The exported functions ask it, and
// make the real call for everything that it does not take.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "core/background.h"
#include "core/settings.h"
#include "driver/trace/nvtx.h"

namespace polypath::preload {

class Session;
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
    if (bytes.value >= pass_below_.load(std::memory_order_acquire)) return false;
    tally_.count(pass_as_.load(std::memory_order_relaxed), bytes);
    return true;
  }
  /// Makes the copy if it is one to be made over several paths, and says what the program's call is
  /// to return; nothing: the real call is to be made.
  /// Where there is a trace, `real` may have been made, between two events.
  [[nodiscard]] std::optional<cuda::Result> take(const ProgramCopy& asked,
                                                 const RealCall& real) noexcept;
  /// The same for a batch, all of it or nothing.
  [[nodiscard]] std::optional<cuda::Result> take(const ProgramBatch& asked) noexcept;
  /// Counts a call that is always the driver's.
  void count(Outcome outcome, Bytes bytes) noexcept;
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
  [[nodiscard]] bool is_off() const { return is_off_.load(std::memory_order_acquire); }

 private:
  Interposer() = default;

  void begin() noexcept;
  [[nodiscard]] Bytes begin_below() const;
  [[nodiscard]] bool hurries(const ProgramCopy& copy) const;
  [[nodiscard]] static bool hurries(const ProgramBatch&) { return false; }
  void start(bool at_once) noexcept;
  [[nodiscard]] bool waits_for_allocations();
  void make_session() noexcept;
  template <class Asked>
  [[nodiscard]] std::optional<Outcome> consider(const Asked& asked, Bytes bytes) noexcept;
  [[nodiscard]] std::optional<TracedCopy> begin_traced(const ProgramCopy& asked,
                                                       Outcome outcome) noexcept;
  template <class Asked>
  [[nodiscard]] Fate decide(const Asked& asked) noexcept;
  void turn_off(const char* why) noexcept;
  void complain(const std::string& problem, const char* why_off) noexcept;
  void stop_preparing() noexcept;
  void end() noexcept;
  void forked() noexcept;
  void share_counts_of_child() noexcept;

  std::atomic<std::uint64_t> pass_below_{0};
  std::atomic<Outcome> pass_as_{Outcome::small};
  std::atomic<bool> is_off_{false};
  std::atomic<bool> begun_{false};
  std::atomic<bool> starting_{false};
  std::atomic<double> last_allocation_{0};  ///< of the program, in seconds
  std::atomic<Session*> session_{nullptr};
  std::mutex mutex_;
  Settings settings_;
  const char* why_off_ = "";
  std::atomic<bool> failed_{false};
  int process_ = 0;
  Tally tally_;
  std::atomic<const trace::Nvtx*> nvtx_{nullptr};  ///< null: names are not wanted
  Background background_;                          ///< in which the session is made
};

}  // namespace polypath::preload
