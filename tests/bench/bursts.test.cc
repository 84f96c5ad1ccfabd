// Bursts over several streams never lose once they recur: no transfer takes what the others need.

#include "bench/bursts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>

#include "core/text.h"
#include "support/effort.h"

namespace polypath::bench::bursts_test {
namespace {

struct Pattern {
  std::string name;
  Burst burst;
};

Burst from_host(const Machine& machine, std::size_t gpus, Bytes bytes) {
  Burst burst;
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu))
    if (burst.size() < gpus) burst.push_back({machine.nearest_host(gpu), gpu, bytes});
  return burst;
}

Burst reversed(Burst burst) {
  for (BurstCopy& copy : burst) std::swap(copy.source, copy.destination);
  return burst;
}

// Of at most four GPUs.
Burst ring(const Machine& machine, Bytes bytes) {
  auto gpus = machine.places_of(PlaceKind::gpu);
  gpus.resize(std::min<std::size_t>(gpus.size(), 4));
  Burst burst;
  for (std::size_t g = 0; g < gpus.size(); ++g)
    burst.push_back({gpus[g], gpus[(g + 1) % gpus.size()], bytes});
  return burst;
}

std::vector<Pattern> patterns(const Machine& machine, Bytes bytes) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  std::vector<Pattern> all;
  for (const std::size_t count : {2, 4}) {
    all.push_back({fmt::format("h2d to {}", count), from_host(machine, count, bytes)});
    all.push_back({fmt::format("d2h from {}", count), reversed(from_host(machine, count, bytes))});
  }
  all.push_back({"both ways", {{gpus[0], gpus[1], bytes}, {gpus[1], gpus[0], bytes}}});
  all.push_back({"ring", ring(machine, bytes)});
  if (gpus.size() > 2) {
    const Burst scatter{{gpus[0], gpus[1], bytes}, {gpus[0], gpus[2], bytes}};
    all.push_back({"one to two", scatter});
    all.push_back({"two to one", reversed(scatter)});
  }
  if (gpus.size() > 3)
    all.push_back({"pairs both ways",
                   {{gpus[0], gpus[1], bytes},
                    {gpus[1], gpus[0], bytes},
                    {gpus[2], gpus[3], bytes},
                    {gpus[3], gpus[2], bytes}}});
  return all;
}

class Bursts : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (test::is_left_out(GetParam(), {"narval", "dgx-a100", "cedar"}))
      GTEST_SKIP() << "in the long form";
  }
};

TEST_P(Bursts, NeverLoseOnceTheyRecur) {
  const Machine machine = load_machine(GetParam());
  using Sizes = std::vector<Bytes>;
  for (const Bytes bytes :
       test::short_or_long(Sizes{16_MiB, 256_MiB}, Sizes{16_MiB, 64_MiB, 256_MiB}))
    for (const auto& [name, burst] : patterns(machine, bytes)) {
      const BurstRatios found = ratios_of(machine, burst);

      const std::string what =
          fmt::format("{}, {}: the first {:.3f}, later {:.3f}, queued {:.3f}", name,
                      describe_bytes(bytes), found.first, found.waiting, found.queued);
      EXPECT_GE(found.waiting, 0.98) << what;
      EXPECT_GE(found.queued, 0.98) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Bursts, testing::ValuesIn(zoo_names()), [](const auto& of) {
  std::string name;
  for (const char letter : of.param)
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) name += letter;
  return name;
});

}  // namespace
}  // namespace polypath::bench::bursts_test
