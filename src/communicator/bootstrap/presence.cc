#include "communicator/bootstrap/presence.h"

#include <fmt/format.h>

#include <filesystem>

#include "communicator/bootstrap/shared_folder.h"
#include "core/ignore_errors.h"
#include "core/user_folder.h"
#include "polypath_version.h"

namespace polypath::communicator {
namespace {

constexpr const char* kPrefix = "rank-";

}  // namespace

RankPresence::RankPresence(const std::string& key, int rank, bool joins) {
  const bool is_left = ignore_errors([&] {
    const std::string user = usual_user_folder();
    if (user.empty()) return;
    const UserFolder checked(user);
    if (!checked.problem().empty()) return;
    const std::string folder = user + "/" + key;
    make_folder(folder);
    leave_file(folder + "/" + kPrefix + std::to_string(rank), said(joins));
    folder_ = folder;
  });
  if (!is_left) folder_.clear();
}

// Ranks of another version would run other programs.
std::string RankPresence::said(bool joins) {
  return fmt::format("{} {}", POLYPATH_VERSION_TEXT, joins ? "joins" : "does not join");
}

bool RankPresence::is_complete(int ranks) const {
  if (folder_.empty()) return false;
  int come = 0;
  const bool is_read = ignore_errors([&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with(kPrefix))
        come += read_left_file(entry.path().string()) == said(true) ? 1 : -ranks;
  });
  return is_read && come == ranks;
}

void RankPresence::forget() const noexcept {
  if (!folder_.empty()) remove_folder(folder_);
}

}  // namespace polypath::communicator
