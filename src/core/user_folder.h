#pragma once
// The folder in memory that all processes of one user on one node share.

#include <string>

#include "core/descriptor.h"

namespace polypath {

/// Its path: below /dev/shm, or, on a system without that, $XDG_RUNTIME_DIR; empty if there is
/// neither. Not the environment first: processes of one program may have different ones.
std::string usual_user_folder();

/// A folder that belongs to this user and is closed to all others.
class UserFolder {
 public:
  /// Makes it, with access for this user only, if it is not there. See `problem`.
  explicit UserFolder(std::string path);

  /// Why it cannot be used, in words; empty if it could when it was opened first.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The folder, opened anew and looked at again: not open if it cannot be used any more. Files are
  /// reached through it, so that no other process can swap the folder, and it is kept no longer
  /// than that: see Descriptor.
  [[nodiscard]] Descriptor open() const;

 private:
  std::string path_;
  std::string problem_;
};

}  // namespace polypath
