// What one engine promises of one copy: the right bytes, at the right time, nothing else.

#include <gmock/gmock.h>

#include "core/error.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test::copy_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
// More than a slot for each path, where that does not take too long.
constexpr std::size_t kLargest = kSanitized ? 10 * kMiB + 13 : 40 * kMiB + 13;
const std::vector<std::string> kAllBeluga{"direct", "gpu2", "gpu3", "host"};

// --- every kind of copy, every size ---

struct Kind {
  std::string name;
  std::string machine;
  std::string source;
  std::string destination;
};

class EveryKind : public testing::TestWithParam<Kind> {};

std::string kind_name(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         testing::Values(Kind{"gpu_to_gpu", "beluga", "gpu0", "gpu1"},
                                         Kind{"behind_a_switch", "h200x4", "gpu2", "gpu0"},
                                         Kind{"over_pcie", "pcie4", "gpu3", "gpu1"},
                                         Kind{"without_peer_access", "nop2p4", "gpu0", "gpu1"},
                                         Kind{"host_to_gpu", "h200x4", "host", "gpu1"},
                                         Kind{"gpu_to_host", "h200x4", "gpu1", "host"},
                                         Kind{"within_a_gpu", "beluga", "gpu0", "gpu0"},
                                         Kind{"within_a_host", "beluga", "host", "host"}),
                         kind_name);

void copy_sizes(const Kind& kind, const Settings& settings, const PlanOptions& options,
                const std::vector<std::size_t>& sizes) {
  constexpr std::size_t kGuard = 4096;
  Rig rig(kind.machine, settings);
  const StreamHandle stream = rig.stream("gpu0");
  for (const std::size_t size : sizes) {
    Buffer& source = rig.buffer(kind.source, size + 2 * kGuard);
    Buffer& destination = rig.buffer(kind.destination, size + 2 * kGuard);
    rig.copy(destination, kGuard + 1, source, kGuard + 3, size, stream, options);
    EXPECT_TRUE(rig.intact()) << size << " bytes";
  }
  EXPECT_THAT(rig.close(), IsEmpty());
}

const std::vector<std::size_t> kSmallSizes{0,    1,    2,    511,   512,   513,   4095,
                                           4096, 4097, 8191, 65535, 65537, 99991, 1 << 18};

TEST_P(EveryKind, CopiesExactlyAsPlanned) {
  for (const auto executor : std::initializer_list<std::optional<Executor>>{
           std::nullopt, Executor::native, Executor::stream, Executor::graph}) {
    PlanOptions options;
    options.executor = executor;
    copy_sizes(GetParam(), small_settings(), options, kSmallSizes);
  }
}

TEST_P(EveryKind, CopiesExactlyOverAllPaths) {
  const auto& [name, machine, source, destination] = GetParam();
  for (const std::optional<Executor> executor : {Executor::stream, Executor::graph})
    copy_sizes(GetParam(), small_settings(),
               over_all_paths(load_machine(machine), source, destination, executor), kSmallSizes);
}

TEST_P(EveryKind, CopiesExactlyAroundTheThresholds) {
  const Settings settings;
  const std::size_t least = kAlwaysPlanned.value;
  for (const std::optional<Executor> executor : {Executor::stream, Executor::graph}) {
    PlanOptions options;
    options.executor = executor;
    copy_sizes(GetParam(), settings, options,
               {least - 1, least, least + 1, settings.staging_slot.value + 1, kLargest});
  }
}

TEST(Copy, GoesOverSeveralPathsWhereThatPays) {
  Rig rig("beluga");
  Buffer& source = rig.buffer("gpu0", 64 * kMiB);
  Buffer& destination = rig.buffer("gpu1", 64 * kMiB);

  const CopyResult result = rig.copy(destination, source, rig.stream("gpu0"));

  EXPECT_TRUE(rig.intact());
  EXPECT_EQ(result.executor, Executor::stream);
  ASSERT_TRUE(result.plan);
  EXPECT_GT(result.plan->shape.paths.size(), 1U);
  EXPECT_GT(rig.statistics().staged_bytes, 0_B);
}

TEST(Copy, SmallMessagesAreOneNativeCopy) {
  Rig rig("beluga");
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  const StreamHandle stream = rig.stream("gpu0");
  const int streams = rig.driver().uses(sim::Call::create_stream);

  const CopyResult result = rig.copy(destination, 0, source, 0, kMiB - 1, stream);

  EXPECT_EQ(result.executor, Executor::native);
  EXPECT_EQ(rig.driver().uses(sim::Call::copy), 1);
  EXPECT_EQ(rig.driver().uses(sim::Call::create_stream), streams);
  EXPECT_EQ(rig.driver().uses(sim::Call::create_event), 0);
}

TEST(Copy, NothingIsCopiedForZeroBytes) {
  Rig rig("beluga");
  Buffer& source = rig.buffer("gpu0", 64);
  Buffer& destination = rig.buffer("gpu1", 64);

  rig.copy(destination, 0, source, 0, 0, rig.stream("gpu0"));

  EXPECT_TRUE(rig.intact());
  EXPECT_EQ(rig.driver().uses(sim::Call::copy), 0);
  EXPECT_EQ(rig.statistics().transfers, 0U);
}

// --- staging memory ---

std::uint64_t staged_memory(std::size_t message, int slots) {
  Settings settings;
  settings.staging_slot = 256_KiB;
  settings.staging_slots = slots;
  Rig rig("beluga", settings);
  Buffer& source = rig.buffer("gpu0", message);
  Buffer& destination = rig.buffer("gpu1", message);
  const StreamHandle stream = rig.stream("gpu0");
  for (const std::optional<Executor> executor : {Executor::stream, Executor::graph})
    rig.copy(destination, source, stream, forced(kAllBeluga, executor));
  rig.synchronize();
  // What is left when the buffers and the stream are gone is the engine's own.
  rig.free(source);
  rig.free(destination);
  std::uint64_t bytes = 0;
  for (const std::string& leak : rig.driver().leaks())
    if (leak.find("bytes at") != std::string::npos) bytes += std::stoull(leak);
  return bytes;
}

// One ring of slots per staging place: gpu2, gpu3 and the host.
TEST(StagingMemory, IsBoundedWhateverTheMessage) {
  EXPECT_EQ(staged_memory(4 * kMiB, 4), 3U * 4 * (256 << 10));
  EXPECT_EQ(staged_memory(64 * kMiB, 4), 3U * 4 * (256 << 10));
  EXPECT_EQ(staged_memory(64 * kMiB, 2), 3U * 2 * (256 << 10));
}

// --- statistics ---

TEST(Counted, EveryTransferOnceByHowItWasDone) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  const StreamHandle stream = rig.stream("gpu0");

  rig.copy(destination, source, stream, forced({"direct"}, Executor::native));
  rig.copy(destination, source, stream, forced(kAllBeluga, Executor::stream));
  rig.copy(destination, source, stream, forced(kAllBeluga, Executor::graph));
  rig.driver().fail_nth(sim::Call::wait, 2);
  rig.copy(destination, source, stream, forced(kAllBeluga, Executor::stream));
  rig.driver().fail_from(sim::Call::copy, 1);
  EXPECT_THROW(rig.copy(destination, source, stream, forced({"direct"}, Executor::native)), Error);
  EXPECT_THROW(rig.copy(destination, source, stream, forced(kAllBeluga, Executor::stream)), Error);
  rig.driver().clear_faults();

  const Statistics counted = rig.statistics();
  EXPECT_EQ(counted.transfers, 6U);
  EXPECT_EQ(counted.native, 1U);
  EXPECT_EQ(counted.streams, 1U);
  EXPECT_EQ(counted.graphs, 1U);
  EXPECT_EQ(counted.fallbacks, 1U);
  EXPECT_EQ(counted.errors, 2U);
  EXPECT_EQ(counted.bytes, Bytes{6 * kMiB});
}

// Native, over several paths, and as one of a set.
TEST(FailedCopies, NameTheirPlaces) {
  Rig rig("beluga", small_settings());
  Buffer& source = rig.buffer("gpu0", kMiB);
  Buffer& destination = rig.buffer("gpu1", kMiB);
  const StreamHandle stream = rig.stream("gpu0");
  const CopyCall call = rig.call(destination, 0, source, 0, kMiB, stream, {});
  rig.driver().fail_from(sim::Call::copy, 1);

  const char* const said = "a copy of 1 MiB from gpu0 to gpu1 has failed (";
  for (const Executor executor : {Executor::native, Executor::stream})
    expect_error(
        ErrorCode::driver,
        [&] { rig.copy(destination, source, stream, forced({"direct"}, executor)); }, said);
  expect_error(
      ErrorCode::driver, [&] { rig.engine().copy_many(std::vector{call}); }, said);
  rig.driver().clear_faults();
}

}  // namespace
}  // namespace polypath::test::copy_test
