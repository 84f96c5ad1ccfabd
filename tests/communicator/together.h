#pragma once
// Several ranks in one test: as threads, and as processes.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "communicator/communicator.h"
#include "core/error.h"
#include "support/layers.h"

namespace polypath::test {

/// Long enough for a loaded computer, where no rank is meant to be missing.
inline constexpr Seconds kLong{60};
/// For ranks that are meant to be.
inline constexpr Seconds kShort{0.3};

/// Runs `work(rank)` in a thread for each rank; the message of each one's error, or "".
template <class Work>
std::vector<std::string> in_threads(int ranks, Work work) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([rank, &work, &error = errors[static_cast<std::size_t>(rank)]] {
      try {
        work(rank);
      } catch (const std::exception& problem) {
        error = problem.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (std::size_t rank = 0; rank < errors.size(); ++rank)
    EXPECT_EQ(errors[rank], "") << "rank " << rank;
}

using Communicators = std::vector<std::unique_ptr<Communicator>>;

/// One communicator's ends, all for this thread: nothing but their making waits.
inline Communicators communicators(int ranks, const CommunicatorOptions& options,
                                   const std::vector<std::string>& nodes = {}) {
  auto bootstraps = bootstrap_among_threads(ranks);
  Communicators all(static_cast<std::size_t>(ranks));
  expect_no_errors(in_threads(ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    CommunicatorOptions own = options;
    if (!nodes.empty()) own.node = nodes[at];
    all[at] = std::make_unique<Communicator>(std::move(bootstraps[at]), own);
  }));
  return all;
}
inline Communicators communicators(int ranks) {
  return communicators(ranks, {.node = {}, .timeout = kLong});
}

inline CallRecord all_reduce(std::uint64_t count) {
  return {.operation = "allreduce", .type = "float32", .reduction = "sum", .count = count};
}

/// Waits until the answer is yes: for what other threads and processes do. False after a minute.
template <class Question>
bool soon(Question question) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!question()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// What check() says; "" while it says nothing.
inline std::string verdict(Communicator& communicator) {
  try {
    communicator.check();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
inline std::string awaited_verdict(Communicator& communicator) {
  EXPECT_TRUE(soon([&] { return !verdict(communicator).empty(); }));
  return verdict(communicator);
}

/// A folder that is removed in the end.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "polypath-ranks-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_empty() const {
    return !std::filesystem::exists(path_) || std::filesystem::is_empty(path_);
  }

 private:
  std::string path_;
};

/// The blocks of communicators that have a name now.
inline std::set<std::string> named_blocks() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored))
    if (entry.path().filename().string().starts_with("polypath-block-")) names.insert(entry.path());
  return names;
}

/// True once nothing has a name that had none before: other tests make blocks too.
inline bool nothing_new_has_a_name(const std::set<std::string>& before) {
  std::set<std::string> names = named_blocks();
  for (const std::string& name : before) names.erase(name);
  return soon([&] {
    return std::none_of(names.begin(), names.end(),
                        [](const std::string& name) { return std::filesystem::exists(name); });
  });
}

}  // namespace polypath::test
