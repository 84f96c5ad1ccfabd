// Flags between ranks (collective/division/projection.h), gone through in all orders in which the
// queues of the ranks' GPUs can do what stands in them: programs as they are divided, two runs of
// them one after the other with other values each time, on bytes.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "collective/algorithms/algorithm.h"
#include "collective/division/projection.h"
#include "collective/rank/rank_memory.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/interleavings.h"
#include "support/sanitizers.h"

namespace polypath::test::flag_orders_test {
namespace {

using testing::IsEmpty, testing::Not;

using Elements = std::vector<float>;
/// Memory, by what it is to all ranks: a buffer of the whole program, or a slot of a hop.
using Key = std::pair<int, int>;
/// A flag, by its buffer and place.
using Flag = std::pair<int, std::uint64_t>;

constexpr int kRuns = 2;
constexpr std::size_t kElement = sizeof(float);

struct Divided {
  CollectiveRequest request;
  std::vector<RankPart> parts;
};

Divided divided(const char* algorithm, Collective collective, int ranks, std::uint64_t elements,
                EntryAwaits entries = EntryAwaits::where_needed) {
  const Machine machine = load_machine("h200x4");
  Divided made{
      {.collective = collective, .ranks = first_gpus(machine, ranks), .elements = elements}, {}};
  made.parts = project(machine, build(find_algorithm(algorithm), machine, made.request, {}),
                       made.request.ranks, RankMemorySizes{}.flags_per_pair, entries);
  return made;
}

// Whole numbers, so that sums are exact; other ones for each rank and run.
float value_of(int rank, int run, std::size_t index) {
  return static_cast<float>(100 * run + 10 * rank + static_cast<int>(index) + 1);
}

/// The ranks' memories and how far each queue of each rank is.
class Ranks {
 public:
  Ranks(const Divided& divided, std::optional<Flag> ignored)
      : divided_(divided), ignored_(ignored) {
    for (const RankPart& part : divided.parts)
      done_.emplace_back(part.program.queues().size(), 0), runs_.emplace_back(0);
    over_.resize(done_.size());
    for (std::size_t rank = 0; rank < over_.size(); ++rank)
      over_[rank].resize(divided.parts[rank].program.nodes().size(), 0);
    for (int rank = 0; rank < size(); ++rank) {
      memory_[{rank, -1}].resize(input_bytes(divided.request, rank).value / kElement);
      memory_[{size() + rank, -1}].resize(output_bytes(divided.request, rank).value / kElement);
    }
  }

  [[nodiscard]] int size() const { return divided_.request.size(); }
  [[nodiscard]] std::size_t queues(int rank) const { return done_[index(rank)].size(); }

  /// All that a queue of a rank does.
  void work(int rank, int queue) {
    for (int run = 1; run <= kRuns; ++run) {
      if (queue == Program::kCallersQueue) begin(rank, run);
      await([&] { return runs_[index(rank)] == run; });
      const auto& nodes = program(rank).nodes();
      for (std::size_t number = 0; number < nodes.size(); ++number)
        if (nodes[number].queue == queue) run_node(rank, run, number);
      done_[index(rank)][index(queue)] = run;
      if (queue == Program::kCallersQueue) end(rank, run);
    }
  }

  [[nodiscard]] std::string wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
    for (const auto& [key, elements] : memory_)
      for (const float element : elements) add(static_cast<std::uint64_t>(element));
    for (const auto& [flag, value] : flags_)
      add(value + 2 * flag.second + (static_cast<std::uint64_t>(flag.first) << 32));
    return hash;
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] const Program& program(int rank) const {
    return divided_.parts[index(rank)].program;
  }

  // What is in the caller's stream before the run: it writes what the rank gives.
  void begin(int rank, int run) {
    step();
    Elements& input = memory_[{rank, -1}];
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = value_of(rank, run, i);
    runs_[index(rank)] = run;
  }
  // And after it: it reads what the rank gets.
  void end(int rank, int run) {
    await([&] {
      const auto& done = done_[index(rank)];
      return std::all_of(done.begin(), done.end(), [&](int each) { return each == run; });
    });
    if (memory_[{size() + rank, -1}] != expected(rank, run) && wrong_.empty())
      wrong_ = fmt::format("rank {} has something else after run {}", rank, run);
  }
  [[nodiscard]] Elements expected(int rank, int run) const {
    Elements all(output_bytes(divided_.request, rank).value / kElement);
    const std::size_t elements = divided_.request.elements;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (divided_.request.collective == Collective::all_gather)
        all[i] = value_of(static_cast<int>(i / elements), run, i % elements);
      else
        for (int from = 0; from < size(); ++from) all[i] += value_of(from, run, i);
    }
    return all;
  }

  void run_node(int rank, int run, std::size_t number) {
    const Node& node = program(rank).nodes()[number];
    await([&] {
      const auto after = program(rank).after(node);
      return std::all_of(after.begin(), after.end(),
                         [&](int earlier) { return over_[index(rank)][index(earlier)] >= run; });
    });
    if (is_flag(node.operation)) use_flag(node);
    else move(rank, node);
    over_[index(rank)][number] = run;
  }
  void use_flag(const Node& node) {
    const Flag flag{node.destination.buffer, node.destination.offset.value};
    if (flag == ignored_) return;
    std::uint64_t& value = flags_[flag];
    if (node.operation == Operation::await) {
      await([&] { return value == 1; });
      value = 0;
      return;
    }
    step();
    if (value == 1 && wrong_.empty()) wrong_ = "a flag is set that has not been awaited";
    value = 1;
  }

  // It has read all before it writes anything, and others may do something in between.
  void move(int rank, const Node& node) {
    const std::size_t count = node.bytes.value / kElement;
    step();
    Elements moved(count);
    std::copy_n(at(rank, node.source, count), count, moved.begin());
    if (node.operation == Operation::reduce) {
      const float* const into = at(rank, node.destination, count);
      std::transform(moved.begin(), moved.end(), into, moved.begin(), std::plus<>());
    }
    for (const float each : moved) note_seen(static_cast<std::uint64_t>(each));
    step();
    std::copy_n(moved.begin(), count, at(rank, node.destination, count));
  }
  float* at(int rank, const Slice& slice, std::size_t count) {
    const RankPart& part = divided_.parts[index(rank)];
    Key key{slice.buffer, -1};
    for (const ScratchUse& use : part.scratch)
      if (use.buffer == slice.buffer)
        key = {1000 + static_cast<int>(use.filled_over.index()), use.slot};
    Elements& memory = memory_[key];
    const std::size_t begin = slice.offset.value / kElement;
    if (memory.size() < begin + count) memory.resize(begin + count);
    return memory.data() + begin;
  }

  const Divided& divided_;
  std::optional<Flag> ignored_;
  std::map<Key, Elements> memory_;
  std::map<Flag, std::uint64_t> flags_;
  std::vector<std::vector<int>> done_;  ///< by rank and queue: runs
  std::vector<std::vector<int>> over_;  ///< by rank and node: runs
  std::vector<int> runs_;               ///< by rank: begun
  std::string wrong_;
};

Interleavings orders_of(const Divided& divided, std::optional<Flag> ignored = {}) {
  return go_through_all_orders([&divided, ignored] {
    auto ranks = std::make_shared<Ranks>(divided, ignored);
    Interleaved run{.ends = {},
                    .wrong = [=] { return ranks->wrong(); },
                    .shared = [=] { return ranks->fingerprint(); }};
    for (int rank = 0; rank < ranks->size(); ++rank)
      for (std::size_t queue = 0; queue < ranks->queues(rank); ++queue)
        run.ends.emplace_back([=] { ranks->work(rank, static_cast<int>(queue)); });
    return run;
  });
}

std::vector<Flag> flags_of(const Divided& divided) {
  std::map<Flag, bool> all;
  for (const RankPart& part : divided.parts)
    for (const Node& node : part.program.nodes())
      if (is_flag(node.operation))
        all[{node.destination.buffer, node.destination.offset.value}] = true;
  std::vector<Flag> flags;
  for (const auto& [flag, used] : all) flags.push_back(flag);
  return flags;
}

class FlagOrders : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";
  }
};

TEST_F(FlagOrders, OfTwoRanksAreAllRight) {
  const Divided gather = divided("exchange", Collective::all_gather, 2, 1, EntryAwaits::at_first);
  const Divided reduce = divided("flat", Collective::all_reduce, 2, 2);

  for (const Divided* each : {&gather, &reduce}) {
    const Interleavings found = orders_of(*each);

    EXPECT_EQ(found.wrong, "");
    EXPECT_GT(found.states, 1000U);
  }
}

// In some order.
TEST_F(FlagOrders, AreWrongWithoutAnyOneOfTheFlags) {
  const Divided all = divided("exchange", Collective::all_gather, 2, 1);
  for (const Flag& flag : flags_of(all))
    EXPECT_THAT(orders_of(all, flag).wrong, Not(IsEmpty()))
        << "flag " << flag.second << " of buffer " << flag.first;
}

}  // namespace
}  // namespace polypath::test::flag_orders_test
