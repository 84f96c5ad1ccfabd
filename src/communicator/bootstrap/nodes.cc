#include "communicator/bootstrap/nodes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/files.h"

namespace polypath::communicator {
namespace {

constexpr std::size_t kMostText = 256;

// The number of the file that a path leads to, as this process sees it; 0 if it leads nowhere.
struct stat about(const char* path) {
  struct stat found {};
  if (stat(path, &found) != 0) return {};
  return found;
}

}  // namespace

std::string this_node() {
  std::string boot = read_file("/proc/sys/kernel/random/boot_id", kMostText).value_or("");
  boot.erase(std::remove(boot.begin(), boot.end(), '\n'), boot.end());
  char host[kMostText] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("{} {} ipc:{} shm:{}", host, boot, about("/proc/self/ns/ipc").st_ino,
                     about("/dev/shm").st_dev);
}

Nodes::Nodes(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [found, is_new] = numbers.emplace(names[rank], count());
    if (is_new) {
      ranks_on_.emplace_back();
      names_.push_back(names[rank].substr(0, names[rank].find(' ')));
    }
    node_of_.push_back(found->second);
    ranks_on_[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
  }
}

int Nodes::local_rank(int rank) const {
  const std::vector<int>& ranks = ranks_on(of(rank));
  return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

}  // namespace polypath::communicator
