// Programs whose memory is not open to every GPU, under the preload library: which of their copies
// take several paths, and why the others do not. What they print is as without.

#include "api/preload/programs_over_standin.h"

namespace polypath::preload::opened_memory_test {
namespace {

// What a scenario's copies come to.
struct Case {
  const char* program;
  const char* scenario;
  std::uint64_t accelerated;
  Outcome otherwise = Outcome::small;
  std::uint64_t others = 0;
};

void PrintTo(const Case& shown, std::ostream* out) { *out << shown.scenario; }

class MemoryThatIsNotOpenToAll : public Programs, public testing::WithParamInterface<Case> {};

TEST_P(MemoryThatIsNotOpenToAll, IsCopiedOverSeveralPathsWhereItMayBe) {
  const Case& expected = GetParam();
  const Variables variables{{"STANDIN_MACHINE", "beluga"},
                            {"STANDIN_FABRIC", "1"},
                            {"POLYPATH_LEDGER", "0"},
                            {"POLYPATH_MIN_MESSAGE", "1M"},
                            {"POLYPATH_PAGEABLE_MIN", "1M"}};
  const std::vector<std::string> command{expected.program, expected.scenario, "bytes=4M"};

  const ProgramRun plain = run_plain(command, variables);
  const ProgramRun preloaded = run_program(command, variables);

  ASSERT_EQ(plain.status, 0) << plain.errors;
  ASSERT_EQ(preloaded.status, 0) << preloaded.errors;
  EXPECT_EQ(preloaded.output, plain.output);
  EXPECT_EQ(preloaded.output.find("wrong"), std::string::npos) << preloaded.output;
  EXPECT_EQ(preloaded.calls(kAccelerated), expected.accelerated) << preloaded.errors;
  if (expected.others > 0)
    EXPECT_EQ(preloaded.calls(text_of(expected.otherwise)), expected.others) << preloaded.errors;
}

constexpr const char* kOpened = "harm_opened";
constexpr const char* kRegistered = "harm_registered";

INSTANTIATE_TEST_SUITE_P(
    OverTheStandIn, MemoryThatIsNotOpenToAll,
    testing::Values(
        Case{kOpened, "as_the_program_made_it", 2}, Case{kOpened, "at_the_same_addresses", 8},
        Case{kOpened, "between_gpus", 2, Outcome::own_access, 1},
        Case{kOpened, "closed_to_its_own_gpu", 0, Outcome::own_access, 2},
        Case{kOpened, "for_a_fabric", 2}, Case{kOpened, "from_a_fabric", 0, Outcome::own_access, 2},
        Case{kOpened, "of_two_gpus", 0, Outcome::own_access, 2}, Case{kOpened, "one_mapping", 2},
        Case{kOpened, "one_memory_twice", 4},
        Case{kOpened, "open_to_be_read", 1, Outcome::own_access, 1},
        Case{kOpened, "pool_freed_at_once", 6}, Case{kOpened, "pool_in_a_stream", 6},
        Case{kOpened, "pool_of_pageable_memory", 2, Outcome::windows, 2},
        Case{kOpened, "pool_of_two_streams", 6}, Case{kOpened, "pool_that_is_exported", 2},
        Case{kOpened, "pools_of_two_gpus", 1, Outcome::own_access, 1},
        Case{kOpened, "several_mappings", 2},
        Case{kOpened, "sleep_in_pageable_memory", 6, Outcome::windows, 6},
        Case{kOpened, "sleep_in_pinned_memory", 6}, Case{kOpened, "to_ordinary_memory", 2},
        Case{kOpened, "with_a_gap", 0, Outcome::own_access, 1}, Case{kRegistered, "a_file", 2},
        Case{kRegistered, "a_part", 6, Outcome::unknown_memory, 1}, Case{kRegistered, "again", 6},
        Case{kRegistered, "large_pages", 2},
        Case{kRegistered, "read_only", 1, Outcome::own_registration, 1},
        Case{kRegistered, "two_parts", 4, Outcome::unknown_memory, 1}),
    [](const auto& of) { return std::string(of.param.scenario); });

}  // namespace
}  // namespace polypath::preload::opened_memory_test
