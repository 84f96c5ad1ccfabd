// How ranks agree on the blocks of their next call (kernels/mailbox_layout.h), in all orders in
// which the blocks of two ranks can go on: in each call all blocks of all ranks find the same
// number.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "kernels/mailbox_layout.h"
#include "support/interleavings.h"
#include "support/sanitizers.h"

namespace polypath::test::mail_wishes_test {
namespace {

constexpr std::size_t kRanks = 2;
constexpr std::uint32_t kFew = 16;

/// The heads of all ranks, in words.
class Heads {
 public:
  Heads() {
    for (auto& words : words_) words.resize(kMailBoxes / sizeof(std::uint32_t));
  }

  [[nodiscard]] std::uint32_t read(std::size_t rank, std::uint64_t at) {
    step();
    note_seen(word(rank, at));
    return word(rank, at);
  }
  void write(std::size_t rank, std::uint64_t at, std::uint32_t value) {
    step();
    word(rank, at) = value;
  }
  std::uint32_t& word(std::size_t rank, std::uint64_t at) {
    return words_[rank][at / sizeof(std::uint32_t)];
  }
  [[nodiscard]] const std::vector<std::uint32_t>& words(std::size_t rank) const {
    return words_[rank];
  }

 private:
  std::array<std::vector<std::uint32_t>, kRanks> words_;
};

/// Calls of two ranks, each with a block that agrees with the other rank's. The first one has one
/// more, which starts at any time before its call is over.
class Calls {
 public:
  explicit Calls(std::uint32_t turns) : turns_(turns) {}

  void agree(std::size_t rank) {
    for (std::uint32_t turn = 0; turn < turns_; ++turn) {
      await([&] { return has_begun(rank, turn); });
      find(rank, turn);
      const std::uint32_t wish = choose(2) == 0 ? kFew : kAllBlocks;
      for (std::size_t to = 0; to < kRanks; ++to) heads_.write(to, wish_at(turn, rank), wish);
      step();
      said_[rank] = turn + 1;
      await([&] { return said_[1 - rank] > turn; });
      std::uint32_t fewest = kAllBlocks;
      for (std::size_t from = 0; from < kRanks; ++from)
        fewest = std::min(fewest, heads_.read(rank, wish_at(turn, from)));
      heads_.write(rank, working_at(turn + 1), fewest);
      forget_all_but(0);
      finish(rank);
    }
  }
  void start_late(std::size_t rank) {
    for (std::uint32_t turn = 0; turn < turns_; ++turn) {
      await([&] { return has_begun(rank, turn); });
      find(rank, turn);
      forget_all_but(0);
      finish(rank);
    }
  }

  [[nodiscard]] std::string wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      for (const std::uint32_t each : heads_.words(rank)) add(each);
      add(said_[rank]), add(over_[rank]);
    }
    for (const auto& [turn, working] : found_) add(turn), add(working);
    return hash;
  }

 private:
  // A call is over when all its blocks are.
  [[nodiscard]] bool has_begun(std::size_t rank, std::uint32_t turn) const {
    return over_[rank] >= turn * (rank == 0 ? 2 : 1);
  }
  void find(std::size_t rank, std::uint32_t turn) {
    const std::uint32_t working = heads_.read(rank, working_at(turn));
    const auto [known, is_first] = found_.try_emplace(turn, working);
    if (!is_first && known->second != working && wrong_.empty())
      wrong_ = fmt::format("in call {} rank {} finds {} blocks where others found {}", turn, rank,
                           working, known->second);
  }
  void finish(std::size_t rank) {
    step();
    ++over_[rank];
  }

  std::uint32_t turns_;
  Heads heads_;
  std::array<std::uint32_t, kRanks> said_{}, over_{};
  std::map<std::uint32_t, std::uint32_t> found_;  ///< by call: how many blocks do the work
  std::string wrong_;
};

TEST(MailWishes, AllBlocksOfACallFindTheSameNumber) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";

  const Interleavings found = go_through_all_orders([] {
    auto calls = std::make_shared<Calls>(3);
    Interleaved run{.ends = {},
                    .wrong = [=] { return calls->wrong(); },
                    .shared = [=] { return calls->fingerprint(); }};
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      run.ends.emplace_back([=] { calls->agree(rank); });
    run.ends.emplace_back([=] { calls->start_late(0); });
    return run;
  });

  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 1000U);
}

}  // namespace
}  // namespace polypath::test::mail_wishes_test
