#pragma once
// When the session is made, and by which thread: beside the program, but not beside allocations
// that would wait for it.

#include <atomic>

#include "api/preload/copy_gate.h"
#include "api/preload/early_copies.h"
#include "api/preload/program_copy.h"
#include "core/background.h"
#include "core/cpus.h"
#include "core/settings.h"

namespace polypath::preload {

class Session;

/// Thread-safe. If there cannot be a session, the gate is turned off.
class SessionStart {
 public:
  SessionStart(CopyGate& gate, const Settings& settings) : gate_(gate), settings_(settings) {}
  SessionStart(const SessionStart&) = delete;
  SessionStart& operator=(const SessionStart&) = delete;

  /// The threshold of the gate until there is a session: the machine may have uses for smaller
  /// copies, which is found out when there is a larger one.
  [[nodiscard]] Bytes begin_below() const;
  /// Once, and only for copies that do not pass. Until there is a session, copies go as they are.
  void begin_for(const ProgramCopy& copy) noexcept;
  void begin_for(const ProgramBatch&) noexcept { begin(Beginning::beside_no_allocations); }
  /// The program allocates so much memory that it pays to begin beside that: large copies are to
  /// come, perhaps many at once, and the first of them is to find everything ready that tells what
  /// the others are worth.
  void begin_at_once() noexcept { begin(Beginning::at_once); }
  [[nodiscard]] bool has_begun() const { return begun_.load(); }
  /// Null: there is none yet.
  [[nodiscard]] Session* session() const { return session_.load(std::memory_order_acquire); }
  /// There is no session for the copy, which goes as it is: the session counts it when it is made.
  void note_early(const ProgramCopy& copy) noexcept { early_.note(copy); }
  void note_early(const ProgramBatch&) noexcept {}
  /// The program allocates.
  void note_allocation() noexcept;
  /// Nothing of ours calls the driver any more but the calls of other threads that are under way.
  void stop_preparing() noexcept;

 private:
  enum class Beginning {
    at_once,
    at_once_with_windows,  ///< if they pay here
    beside_no_allocations,
  };
  [[nodiscard]] bool has_windows(const CpuSet& cpus) const;
  void begin(Beginning when) noexcept;
  [[nodiscard]] bool may_begin(Beginning when, const CpuSet& cpus);
  [[nodiscard]] bool waits_for_allocations();
  void make_session() noexcept;

  CopyGate& gate_;
  const Settings& settings_;
  std::atomic<bool> begun_{false};
  std::atomic<double> last_allocation_{0};  ///< of the program, in seconds
  std::atomic<Session*> session_{nullptr};
  EarlyCopyList early_;
  Background background_{Background::Priority::low, Seconds{}};  ///< it has one task
};

}  // namespace polypath::preload
