#pragma once
// Another program on the stand-in driver (peer_main.cc), told what to do line by line.

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

class Peer {
 public:
  /// Starts it with "NAME=VALUE" added to the environment.
  explicit Peer(const std::vector<std::string>& environment = {});
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  /// One command's answer; empty if the program has ended.
  std::string ask(const std::string& command);
  /// Lets it end by itself; its exit status, or minus the signal that ended it.
  int quit();
  /// Ends it at once.
  void kill();
  /// What it wrote to stdout after its last answer, and to stderr; after quit.
  [[nodiscard]] const std::string& last_words() const { return last_words_; }
  [[nodiscard]] const std::string& complaints() const { return complaints_; }

 private:
  int wait();

  pid_t process_ = 0;
  std::FILE* commands_ = nullptr;
  std::FILE* answers_ = nullptr;
  std::FILE* errors_ = nullptr;
  std::string last_words_, complaints_;
};

}  // namespace polypath::test
