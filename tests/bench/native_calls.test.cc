// The driver's calls that a benchmark stands beside.

#include <gtest/gtest.h>

#include <string>

#include "bench/operation.h"
#include "machine/load_machine.h"

namespace polypath::bench::native_calls_test {
namespace {

std::string calls_of(const char* machine_name, const char* operation, const char* source,
                     const char* destination) {
  const Machine machine = load_machine(machine_name);
  const auto [from, to] = machine.find_ends(source, destination);
  return native_calls(machine, {find_operation(machine, operation, from, to)});
}

TEST(NativeCalls, DependOnTheKindsOfPlacesAndOfMemory) {
  EXPECT_EQ(calls_of("h200x4", "put", "gpu0", "gpu1"), "cuMemcpyDtoDAsync, peer access");
  EXPECT_EQ(calls_of("nop2p4", "put", "gpu0", "gpu1"), "cuMemcpyDtoDAsync, no peer access");
  EXPECT_EQ(calls_of("h200x4", "h2d", "host0", "gpu1"), "cuMemcpyHtoDAsync, pinned");
  EXPECT_EQ(calls_of("h200x4", "d2h", "gpu1", "host0"), "cuMemcpyDtoHAsync, pinned");
  EXPECT_EQ(calls_of("h200x4", "pageable", "gpu1", "host0"), "cuMemcpyDtoHAsync, malloc memory");
}

TEST(NativeCalls, OfSeveralLanesAreNamedOnce) {
  EXPECT_EQ(calls_of("h200x4", "bibw", "gpu0", "gpu1"), "cuMemcpyDtoDAsync, peer access");
  EXPECT_EQ(calls_of("h200x4", "mbw", "gpu0", "gpu1"), "cuMemcpyDtoDAsync, peer access");
}

TEST(NativeCalls, OfAllPairsAreThoseOfEachKind) {
  const Machine machine = load_machine("cedar");

  EXPECT_EQ(native_calls(machine, operations_of_all_pairs(machine, "put")),
            "cuMemcpyDtoDAsync, peer access");
}

}  // namespace
}  // namespace polypath::bench::native_calls_test
