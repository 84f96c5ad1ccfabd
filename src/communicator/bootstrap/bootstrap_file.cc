// The folder of a run, and how its ranks agree on it:
//
//   FOLDER/rank-R   "SIZE NONCE": rank R is here; NONCE is a random number of this process
//   FOLDER/run      "RUN NONCE₀ NONCE₁ …": rank 0's answer, "-" for ranks that it has not seen
//   FOLDER/RUN/K-R  what rank R gives in round K
//   FOLDER/RUN/bye-R  rank R gives nothing any more; in it why, if it has given up
//
// RUN is a random number of rank 0. A rank believes only an answer that holds its own nonce: no
// process but the current rank 0 can have written that. So files of earlier runs are never
// believed. Rank 0 answers anew whenever it sees another nonce, until all ranks are in its run.

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "communicator/bootstrap/shared_folder.h"
#include "core/error.h"
#include "core/process.h"
#include "core/text.h"

namespace polypath::communicator {
namespace {

const std::string kNobody = "-";

[[noreturn]] void fail_without(const std::vector<int>& missing, const std::string& folder,
                               const std::string& more = {}) {
  fail(ErrorCode::communicator, fmt::format("Not all ranks came together in '{}'", folder),
       describe_ranks(missing) + " did not come in time" + more,
       "Find out what became of them, or wait longer.");
}

/// The rounds of ranks that have agreed on a run.
class FileBootstrap final : public Bootstrap {
 public:
  FileBootstrap(std::string folder, const std::string& run, int rank, int size)
      : Bootstrap(rank, size), folder_(std::move(folder)), run_(folder_ + "/" + run) {}
  ~FileBootstrap() override { leave(); }

  /// This rank's part of the first round, and the ranks whose parts are missing.
  void open_round() { leave_file(file_of(round_, rank()), {}); }
  [[nodiscard]] bool is_open() const { return access(run_.c_str(), F_OK) == 0; }
  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int i = 0; i < size(); ++i)
      if (access(file_of(round_, i).c_str(), F_OK) != 0) ranks.push_back(i);
    return ranks;
  }

 private:
  std::vector<Blob> exchange(const Blob& mine, Seconds timeout) override {
    leave_file(file_of(++round_, rank()), mine);
    const Deadline deadline(timeout);
    std::vector<Blob> blobs;
    const bool all = wait_until(deadline, [&] {
      if (take_parts(blobs)) return true;
      check_missing(static_cast<int>(blobs.size()));
      check_waiting();
      return false;
    });
    if (!all) fail_without(missing(), folder_);
    // A rank in this round has read all of the round before.
    unlink(file_of(round_ - 1, rank()).c_str());
    return blobs;
  }

  // The parts of this round that are there, in the order of the ranks; true once that is all.
  bool take_parts(std::vector<Blob>& parts) const {
    while (static_cast<int>(parts.size()) < size()) {
      auto blob = read_left_file(file_of(round_, static_cast<int>(parts.size())));
      if (!blob) return false;
      parts.push_back(std::move(*blob));
    }
    return true;
  }

  // A rank leaves after it has given its part: the part is looked for again.
  void check_missing(int first) {
    for (int from = first; from < size(); ++from) {
      const auto why = read_left_file(farewell_of(from));
      if (why && access(file_of(round_, from).c_str(), F_OK) != 0) note_gone(from, *why);
    }
  }

  void tell_given_up(const std::string& why) override {
    if (process_generation() == generation_) leave_file(farewell_of(rank()), why);
  }

  std::unique_ptr<Bootstrap> subgroup(const Subgroup& group, Seconds) override {
    if (group.color < 0) return nullptr;
    const std::string run =
        fmt::format("{}.{}.{}", run_.substr(folder_.size() + 1), group.number, group.color);
    make_folder(folder_ + "/" + run);
    return std::make_unique<FileBootstrap>(folder_, run, group.rank, group.size());
  }

  [[nodiscard]] std::string file_of(int round, int rank_of_file) const {
    return fmt::format("{}/{}-{}", run_, round, rank_of_file);
  }

  [[nodiscard]] std::string farewell_of(int from) const {
    return fmt::format("{}/bye-{}", run_, from);
  }

  // Others may still read what this rank gave: the last to leave cleans up.
  void leave() noexcept try {
    if (process_generation() != generation_) return;
    if (access(farewell_of(rank()).c_str(), F_OK) != 0) leave_file(farewell_of(rank()), {});
    for (int i = 0; i < size(); ++i)
      if (access(farewell_of(i).c_str(), F_OK) != 0) return;
    remove_folder(run_);
    rmdir(folder_.c_str());  // unless there is something else in it
  } catch (const std::exception&) {
    return;  // no rank believes the files that are left
  }

  std::string folder_;
  std::string run_;
  int round_ = 0;
  int generation_ = process_generation();  ///< a forked child has never been there
};

/// A rank's statement of itself, and whether it still stands there.
class Presence {
 public:
  Presence(std::string folder, int rank, int size)
      : file_(fmt::format("{}/rank-{}", folder, rank)), text_(fmt::format("{} {}", size, nonce_)) {
    leave_file(file_, text_);
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence() {
    if (read_left_file(file_) == text_) unlink(file_.c_str());
  }

  [[nodiscard]] const std::string& nonce() const { return nonce_; }
  [[nodiscard]] bool is_replaced() const {
    const auto now = read_left_file(file_);
    return now && *now != text_;
  }

 private:
  std::string nonce_ = unique_name();
  std::string file_;
  std::string text_;
};

// Describes what is odd about ranks.
using Doubts = std::map<int, std::string>;

// The nonce of a rank as rank 0 sees it.
std::string seen_nonce(const std::string& folder, int rank, int size, Doubts& doubts) {
  const auto text = read_left_file(fmt::format("{}/rank-{}", folder, rank));
  const auto words = split(text.value_or(""), ' ');
  if (words.size() != 2) return kNobody;
  if (words[0] == std::to_string(size)) return words[1];
  doubts[rank] =
      fmt::format("; rank {} says that there are {} ranks, not {}", rank, words[0], size);
  return kNobody;
}

// Of a run whose ranks ended before they had come together.
void remove_abandoned(const std::string& folder) {
  const std::string run = split(read_left_file(folder + "/run").value_or(""), ' ').front();
  const bool is_name = run.size() == unique_name().size() &&
                       run.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_name) remove_folder(folder + "/" + run);
}

std::unique_ptr<Bootstrap> gather_ranks(const std::string& folder, int size, Seconds timeout) {
  const std::string run = unique_name();
  const std::string answer_file = folder + "/run";
  remove_abandoned(folder);
  make_folder(folder + "/" + run);
  auto mine = std::make_unique<FileBootstrap>(folder, run, 0, size);
  mine->open_round();
  std::string answered;
  Doubts doubts;
  const auto all_here = [&] {
    std::string answer = run + " " + kNobody;
    for (int i = 1; i < size; ++i) answer += " " + seen_nonce(folder, i, size, doubts);
    // Ranks that have come take their presence back: the answer must keep what they look for.
    if (mine->missing().empty()) return true;
    if (answer != answered) leave_file(answer_file, answered = answer);
    return false;
  };
  const bool all = wait_until(Deadline(timeout), all_here);
  unlink(answer_file.c_str());
  if (all) return mine;
  const std::vector<int> missing = mine->missing();
  remove_folder(folder + "/" + run);
  std::string more;
  for (const int rank : missing) more += doubts[rank];
  fail_without(missing, folder, more);
}

// The run of an answer to this very process; empty if there is none.
std::string run_for(const std::string& folder, int rank, const std::string& nonce) {
  const auto words = split(read_left_file(folder + "/run").value_or(""), ' ');
  const auto at = static_cast<std::size_t>(rank) + 1;
  return words.size() > at && words[at] == nonce ? words[0] : "";
}

std::unique_ptr<Bootstrap> join_ranks(const std::string& folder, int rank, int size,
                                      Seconds timeout) {
  const Deadline deadline(timeout);
  const Presence presence(folder, rank, size);
  std::string run;
  const bool answered = wait_until(deadline, [&] {
    run = run_for(folder, rank, presence.nonce());
    if (run.empty() && presence.is_replaced())
      fail(ErrorCode::communicator, fmt::format("Rank {} is there twice in '{}'", rank, folder),
           "another process has come as the same rank", "Give each process a rank of its own.");
    return !run.empty();
  });
  if (!answered) fail_without({0}, folder, ", or counts other ranks than this one");
  auto mine = std::make_unique<FileBootstrap>(folder, run, rank, size);
  mine->open_round();
  std::vector<int> missing;
  const auto all_here = [&] {
    const std::vector<int> now = mine->missing();
    if (!mine->is_open()) return true;  // rank 0 has given up
    missing = now;
    return missing.empty();
  };
  if (!wait_until(deadline, all_here) || !missing.empty()) fail_without(missing, folder);
  return mine;
}

}  // namespace

std::unique_ptr<Bootstrap> bootstrap_by_file(const std::string& folder, int rank, int size,
                                             Seconds timeout) {
  check_rank(rank, size);
  make_folder(folder);
  return rank == 0 ? gather_ranks(folder, size, timeout) : join_ranks(folder, rank, size, timeout);
}

}  // namespace polypath::communicator
