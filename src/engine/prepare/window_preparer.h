#pragma once
// Makes the pinned windows that copies of pageable memory need, once such copies have missed what
// that costs.

#include <atomic>

#include "core/background.h"
#include "core/brief_mutex.h"
#include "core/settings.h"
#include "engine/call/copy_call.h"
#include "engine/pageable/pageable.h"
#include "machine/driver_behaviour.h"

namespace polypath::engine {

/// Thread-safe: takes `mutex` for moments.
class WindowPreparer {
 public:
  /// Without a `background` copies make their windows themselves.
  WindowPreparer(const DriverBehaviour& behaviour, const Settings& settings, BriefMutex& mutex,
                 PageableCopies& pageable, Background* background)
      : behaviour_(behaviour),
        settings_(settings),
        mutex_(mutex),
        pageable_(pageable),
        background_(background) {}

  /// True if windows are there, or have been made in this call: few at first, all of them when
  /// copies have gained their cost.
  [[nodiscard]] bool provide(const CopyCall& call, const CopyEnds& ends);
  /// By windows, over the driver's own copy.
  [[nodiscard]] Seconds gain_of(Bytes bytes, const CopyEnds& ends) const;

 private:
  [[nodiscard]] Seconds cost_of(WindowsMade wanted) const;
  [[nodiscard]] bool make(const CopyEnds& ends, WindowsMade wanted) noexcept;

  const DriverBehaviour& behaviour_;
  const Settings& settings_;
  BriefMutex& mutex_;
  PageableCopies& pageable_;
  Background* background_;
  Seconds missed_;  ///< by copies without windows since some were made last
  std::atomic<bool> preparing_{false};
};

}  // namespace polypath::engine
