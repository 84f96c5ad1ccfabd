#include "communicator/bootstrap/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::communicator {
namespace {

struct Wish {
  std::int32_t color;
  std::int32_t key;
};

Blob bytes_of(const Wish& wish) { return {reinterpret_cast<const char*>(&wish), sizeof wish}; }

std::vector<Wish> wishes_in(const std::vector<Blob>& blobs) {
  std::vector<Wish> wishes(blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].size() != sizeof(Wish))
      fail(ErrorCode::communicator, fmt::format("Rank {} does not split", i),
           "it exchanges something else in the same round", "Every rank must call split.");
    std::memcpy(&wishes[i], blobs[i].data(), sizeof(Wish));
  }
  return wishes;
}

Subgroup group_of(const std::vector<Wish>& wishes, int rank) {
  Subgroup group;
  group.color = wishes[static_cast<std::size_t>(rank)].color;
  if (group.color < 0) return group;
  for (int i = 0; i < static_cast<int>(wishes.size()); ++i)
    if (wishes[static_cast<std::size_t>(i)].color == group.color) group.members.push_back(i);
  const auto key = [&](int i) { return wishes[static_cast<std::size_t>(i)].key; };
  std::stable_sort(group.members.begin(), group.members.end(),
                   [&](int a, int b) { return key(a) < key(b); });
  const auto found = std::find(group.members.begin(), group.members.end(), rank);
  group.rank = static_cast<int>(found - group.members.begin());
  return group;
}

class FunctionBootstrap final : public Bootstrap {
 public:
  FunctionBootstrap(BootstrapFunctions functions, int rank, int size)
      : Bootstrap(rank, size), functions_(std::move(functions)) {}

 private:
  std::vector<Blob> exchange(const Blob& mine, Seconds timeout) override {
    return functions_.all_gather(mine, timeout);
  }

  std::unique_ptr<Bootstrap> subgroup(const Subgroup& group, Seconds) override {
    if (!functions_.split)
      fail(ErrorCode::unsupported, "This communicator cannot be divided",
           "its bootstrap has a function for rounds but none for groups",
           "Give BootstrapFunctions::split too.");
    BootstrapFunctions functions = functions_.split(group);
    if (group.color < 0) return nullptr;
    return bootstrap_by_functions(std::move(functions), group.rank, group.size());
  }

  BootstrapFunctions functions_;
};

}  // namespace

void check_rank(int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size)
    fail(ErrorCode::invalid_argument, fmt::format("There is no rank {} of {}", rank, size),
         "ranks count from 0");
}

Bootstrap::Bootstrap(int rank, int size) : rank_(rank), size_(size) { check_rank(rank, size); }

std::vector<Blob> Bootstrap::all_gather(const Blob& mine, Seconds timeout) {
  if (broken_)
    fail(ErrorCode::communicator, "The ranks cannot exchange anything any more",
         "an earlier round failed", "Make a new communicator.");
  broken_ = true;  // unless nothing is thrown
  without_.reset();
  std::vector<Blob> blobs = exchange(mine, timeout);
  if (blobs.size() != static_cast<std::size_t>(size_))
    fail(ErrorCode::communicator,
         fmt::format("A round of {} ranks brought bytes of {}", size_, blobs.size()),
         "the bootstrap's function is wrong");
  broken_ = false;
  return blobs;
}

void Bootstrap::give_up(const std::string& why) noexcept {
  broken_ = true;
  if (!std::exchange(has_given_up_, true)) ignore_errors([&] { tell_given_up(why); });
}

void Bootstrap::note_gone(int rank, const std::string& why) {
  constexpr std::chrono::seconds kForOthersWords{1};
  const auto now = std::chrono::steady_clock::now();
  if (!without_) without_ = now;
  if (!why.empty() || now - *without_ > kForOthersWords) fail_for_lack_of(rank, why);
}

std::unique_ptr<Bootstrap> Bootstrap::split(int color, int key, Seconds timeout) {
  const std::vector<Blob> blobs = all_gather(bytes_of({color, key}), timeout);
  Subgroup group = group_of(wishes_in(blobs), rank_);
  group.number = ++divisions_;
  std::unique_ptr<Bootstrap> mine = subgroup(group, timeout);
  return group.color < 0 ? nullptr : std::move(mine);
}

std::unique_ptr<Bootstrap> bootstrap_by_functions(BootstrapFunctions functions, int rank,
                                                  int size) {
  return std::make_unique<FunctionBootstrap>(std::move(functions), rank, size);
}

void fail_for_lack_of(int rank, const std::string& why) {
  if (why.empty())
    fail(ErrorCode::communicator, fmt::format("Rank {} has gone", rank),
         "it exchanges nothing any more", "Find out what became of it.");
  fail(ErrorCode::communicator, fmt::format("Rank {} has given up", rank), why,
       "Correct that first.");
}

void check_at_all_ranks(Bootstrap& bootstrap, const std::string& problem, Seconds timeout) {
  throw_first_problem(bootstrap.all_gather(problem, timeout));
}

void throw_first_problem(const std::vector<Blob>& problems) {
  for (const Blob& each : problems)
    if (!each.empty()) throw Error(ErrorCode::communicator, each);
}

}  // namespace polypath::communicator
