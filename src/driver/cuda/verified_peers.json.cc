#include "driver/cuda/verified_peers.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/files.h"
#include "core/hash.h"
#include "core/ignore_errors.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"
#include "driver/cuda/gpu_facts.h"
#include "machine/store.h"

namespace polypath::cuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "polypath.peers/1";
constexpr std::size_t kLongestFile = std::size_t{1} << 20;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostPairs = 4096;

// Since when the computer has been up: a number that the kernel draws at each start.
std::string boot() {
  std::string text = read_file("/proc/sys/kernel/random/boot_id", kLongestName).value_or("unknown");
  std::erase(text, '\n');
  return text;
}

// The version, and which file the driver's library is: another one of the same version may do
// otherwise. Short enough to be read again.
std::string driver_in_use() {
  std::string library;
  if (void* const opened = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    link_map* map = nullptr;
    struct stat file = {};
    if (dlinfo(opened, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
        stat(map->l_name, &file) == 0)
      library = fmt::format("{} {} {}", map->l_name, file.st_size, file.st_mtim.tv_sec);
    dlclose(opened);
  }
  return fmt::format("{} {:016x}", facts().driver_version, Hash().add(library).value());
}

}  // namespace

VerifiedPeers& VerifiedPeers::of_process() {
  static auto& peers = *[] {
    std::string path;
    ignore_errors([&] { path = cache_path("peers.json"); });
    return new VerifiedPeers(std::move(path), {boot(), driver_in_use()});
  }();
  return peers;
}

std::optional<bool> VerifiedPeers::arrive(const std::string& accessing, const std::string& owner) {
  const std::scoped_lock lock(mutex_);
  read();
  const auto found = pairs_.find({accessing, owner});
  return found == pairs_.end() ? std::nullopt : std::optional(found->second);
}

void VerifiedPeers::note(const std::string& accessing, const std::string& owner, bool right) {
  const std::scoped_lock lock(mutex_);
  is_read_ = false;  // others may have seen more meanwhile
  read();
  pairs_[{accessing, owner}] = right;
  ignore_errors([this] { write(); });
}

// The first time. Results of another start, or of another driver, do not count.
void VerifiedPeers::read() {
  if (is_read_ || path_.empty()) return;
  is_read_ = true;
  const auto text = read_file(path_, kLongestFile);
  if (!text) return;
  ignore_errors([&] {
    const JsonDocument document(*text, {path_, ErrorCode::invalid_machine, "Remove the file."});
    const JsonField root = document.root();
    if (root.at("schema").text(kLongestName) != kSchema ||
        root.at("boot").text(kLongestName) != since_.boot ||
        root.at("driver").text(kLongestName) != since_.driver)
      return;
    for (const JsonField& pair : root.at("pairs").elements(kMostPairs))
      pairs_[{pair.at("accessing").text(kLongestName), pair.at("owner").text(kLongestName)}] =
          pair.at("right").flag();
  });
}

void VerifiedPeers::write() const {
  if (path_.empty()) return;
  Json pairs = Json::array();
  for (const auto& [pair, right] : pairs_)
    pairs.push_back({{"accessing", pair.first}, {"owner", pair.second}, {"right", right}});
  const Json document = {{"schema", kSchema},
                         {"boot", since_.boot},
                         {"driver", since_.driver},
                         {"pairs", std::move(pairs)}};
  write_whole(path_, json_text(document, 1) + "\n");
}

}  // namespace polypath::cuda
