#pragma once
// What was measured of NCCL and Polypath side by side, by all that it depends on: by this process,
// and by earlier programs of the user (choices_file.h).

#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "nccl/choices.h"
#include "nccl/functions.h"
#include "nccl/member.h"

namespace polypath::nccl {

/// Thread-safe.
class KnownChoices {
 public:
  /// Messages of at most `most` are tried. `real` must outlive it.
  KnownChoices(const Functions& real, Bytes most) : real_(real), most_(most) {}

  /// Measured once for the same GPUs. All ranks of the communicator ask at the same time, and get
  /// the same. Errors as of measure().
  Choices for_member(Comm comm, Member& member);

 private:
  [[nodiscard]] std::optional<Choices> measured_in(const std::string& circumstances) const;
  [[nodiscard]] std::string circumstances(const std::vector<int>& gpus, Member& member) const;

  const Functions& real_;
  Bytes most_;
  mutable std::shared_mutex mutex_;  ///< guards the member below
  std::map<std::string, Choices> measured_;
};

}  // namespace polypath::nccl
