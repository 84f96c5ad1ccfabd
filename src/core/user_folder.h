#pragma once
// The folder in memory that all processes of one user on one node share.

#include <string>

namespace polypath {

/// Its path: below /dev/shm, or, on a system without that, $XDG_RUNTIME_DIR; empty if there is
/// neither. Not the environment first: processes of one program may have different ones.
std::string usual_user_folder();

/// An open folder that belongs to this user and is closed to all others.
class UserFolder {
 public:
  /// Opens the folder, or makes it with access for this user only. See `problem`.
  explicit UserFolder(const std::string& path);
  UserFolder(const UserFolder&) = delete;
  UserFolder& operator=(const UserFolder&) = delete;
  ~UserFolder();

  /// Why it cannot be used, in words; empty if it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Files are reached through this descriptor, so that nobody can swap the folder; -1 if unusable.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string open_folder(const std::string& path);

  int descriptor_ = -1;
  std::string problem_;
};

}  // namespace polypath
