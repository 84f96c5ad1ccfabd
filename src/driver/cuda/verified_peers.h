#pragma once
// Between which GPUs of this computer bytes arrive, as it was seen since the computer was started.
//
// Kept in $XDG_CACHE_HOME/polypath/peers.json beside the calibrations, so that one process looks
// and the others know. An answer counts until the next start of the computer, and for this driver:
// its version, and the file that its library is.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace polypath::cuda {

/// Thread-safe. A file that cannot be read counts as none; failure to write a file is ignored.
class VerifiedPeers {
 public:
  /// Identifies one start of the computer, under one driver.
  struct Since {
    std::string boot, driver;
  };

  VerifiedPeers(std::string path, Since since) : path_(std::move(path)), since_(std::move(since)) {}
  VerifiedPeers(const VerifiedPeers&) = delete;
  VerifiedPeers& operator=(const VerifiedPeers&) = delete;

  /// This process's, in the user's cache folder.
  static VerifiedPeers& of_process();

  /// Whether bytes arrive that one GPU exchanges with another one's memory, each by its address on
  /// the bus; nothing if that has not been seen.
  [[nodiscard]] std::optional<bool> arrive(const std::string& accessing, const std::string& owner);
  void note(const std::string& accessing, const std::string& owner, bool right);

 private:
  using Pair = std::pair<std::string, std::string>;

  void read();
  void write() const;

  std::string path_;  ///< empty: nothing is kept
  Since since_;
  std::mutex mutex_;
  bool is_read_ = false;
  std::map<Pair, bool> pairs_;
};

}  // namespace polypath::cuda
