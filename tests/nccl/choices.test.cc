// Measured samples, and the choices that follow from them.

#include "nccl/choices.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "nccl/choices_file.h"
#include "nccl/counts.h"
#include "nccl/support/own_cache.h"
#include "support/layers.h"

namespace polypath::test::nccl_choices_test {
namespace {

using nccl::Call;
using nccl::CallClass;
using nccl::Choices;
using nccl::Operation;

constexpr CallClass kSums{Operation::all_reduce, true};

Choices measured() {
  Choices choices;
  choices.add(kSums, {1_KiB, Seconds{4}, Seconds{2}});
  choices.add(kSums, {1_MiB, Seconds{4}, Seconds{4}});
  return choices;
}

TEST(NcclChoices, TakeTheSmallerGainBetweenTwoSizes) {
  const Choices choices = measured();

  EXPECT_DOUBLE_EQ(choices.gain(kSums, 1_B), 2);
  EXPECT_DOUBLE_EQ(choices.gain(kSums, 1_KiB), 2);
  EXPECT_DOUBLE_EQ(choices.gain(kSums, 32_KiB), 1);
  EXPECT_DOUBLE_EQ(choices.gain(kSums, 1_MiB), 1);
  EXPECT_DOUBLE_EQ(choices.gain(kSums, 1_GiB), 1);
}

TEST(NcclChoices, OfLongerCallsAreThoseOfTheLongestMeasured) {
  Choices choices = measured();
  choices.add(kSums, {1_GiB, Seconds{3}, Seconds{2}});

  EXPECT_DOUBLE_EQ(choices.gain(kSums, 64_GiB), 1.5);
}

TEST(NcclChoices, LeaveCallsThatThereWasNoMemoryToMeasure) {
  Choices choices = measured();
  choices.add(kSums, {2_MiB, Seconds{3}, Seconds{2}});
  choices.end_at(2_MiB);

  const Choices same = nccl::parse_choices(nccl::choices_to_json(choices), "rank 0");

  EXPECT_TRUE(same.is_ours(kSums, 2_MiB));
  EXPECT_FALSE(same.is_ours(kSums, 3_MiB));
}

TEST(NcclChoices, LeaveWhatGainsNothingAndWhatWasNeverMeasured) {
  const Choices choices = measured();

  EXPECT_TRUE(choices.is_ours(kSums, 1_KiB));
  EXPECT_TRUE(choices.is_ours(kSums, 32_KiB));  // short ones have to be as fast
  EXPECT_FALSE(choices.is_ours(kSums, 1_MiB));
  EXPECT_FALSE(choices.is_ours({Operation::broadcast, true}, 1_KiB));
  EXPECT_FALSE(choices.is_ours({Operation::all_reduce, false}, 1_KiB));
}

TEST(NcclChoices, AreTheSameOnceTheyHaveBeenGivenAway) {
  const Choices choices = measured();

  const Choices same = nccl::parse_choices(nccl::choices_to_json(choices), "rank 0");

  for (const Bytes size : {1_B, 3_KiB, 100_KiB, 1_GiB})
    EXPECT_EQ(same.gain(kSums, size), choices.gain(kSums, size));
}

TEST(NcclChoices, OfAGpuWithoutMemoryAreNone) {
  Choices choices;
  choices.end_at({});

  const Choices same = nccl::parse_choices(nccl::choices_to_json(choices), "rank 0");

  EXPECT_FALSE(same.is_ours(kSums, 1_B));
}

TEST(NcclChoices, ThatAreNoneAreAnError) {
  for (
      const char* const text :
      {"", "x", "{}", R"({"schema": "polypath.nccl-choices/3", "samples": []})",
       R"({"schema": "polypath.nccl-choices/2", "longest_bytes": 1, "samples": [{"operation": "sort"}]})",
       R"({"schema": "polypath.nccl-choices/2", "longest_bytes": 1, "samples": [{"operation": "send",
            "float32_sum": true, "bytes": 1, "nccl_seconds": 1, "seconds": -1}]})"})
    EXPECT_THROW((void)nccl::parse_choices(text, "rank 0"), Error) << text;
}

TEST(NcclChoices, AreKeptByTheirCircumstances) {
  const OwnCache cache;
  const nccl::ChoicesFile file("here"), other("elsewhere");

  file.write(measured());

  ASSERT_TRUE(file.read());
  EXPECT_EQ(file.read()->gain(kSums, 1_KiB), 2);
  EXPECT_FALSE(other.read());
}

TEST(NcclChoices, SumsOfFloatsAreAClassOfTheirOwn) {
  const Call sum{.operation = Operation::all_reduce, .type = nccl::kFloat32};
  const Call others{.operation = Operation::all_reduce, .type = nccl::kBfloat16};
  const Call moved{.operation = Operation::all_gather, .type = nccl::kBfloat16};

  EXPECT_EQ(class_of(sum), kSums);
  EXPECT_NE(class_of(others), kSums);
  EXPECT_TRUE(class_of(moved).is_usual_sum);
}

TEST(NcclCounts, AreByOperationSizeAndFate) {
  nccl::Counts counts;

  counts.count(Operation::send, Bytes{5}, nccl::Fate::other_kind);
  counts.count(Operation::send, Bytes{15}, nccl::Fate::other_kind);
  counts.count(Operation::send, Bytes{16}, nccl::Fate::other_kind);
  counts.count(Operation::receive, Bytes{}, nccl::Fate::ours);

  const auto all = counts.all();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].least, 4_B);
  EXPECT_EQ(all[0].calls, 2U);
  EXPECT_EQ(all[0].bytes, Bytes{20});
  EXPECT_EQ(all[1].least, 16_B);
  EXPECT_EQ(all[2].operation, Operation::receive);
  EXPECT_EQ(all[2].fate, nccl::Fate::ours);
}

}  // namespace
}  // namespace polypath::test::nccl_choices_test
