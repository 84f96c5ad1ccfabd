#pragma once

#include <utility>
#include <vector>

#include "engine/learn/experience.h"

namespace polypath::engine {

using LearntKinds = std::vector<std::pair<TransferKind, Learnt>>;

/// Keeps what engines have learnt from one process to the next. Thread-safe; fails without a word
/// but in the log.
class ExperienceKeeper {
 public:
  ExperienceKeeper() = default;
  ExperienceKeeper(const ExperienceKeeper&) = delete;
  ExperienceKeeper& operator=(const ExperienceKeeper&) = delete;
  virtual ~ExperienceKeeper() = default;

  [[nodiscard]] virtual LearntKinds read() noexcept = 0;
  /// Takes the place of what is kept of the same kinds; the others stay.
  virtual void keep(const LearntKinds& learnt) noexcept = 0;
};

}  // namespace polypath::engine
