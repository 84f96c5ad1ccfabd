// NVML over the same machine.

#include <gtest/gtest.h>

#include <string>

#include "standin/driver_api.h"
#include "standin/nvml/abi.h"
#include "support/layers.h"

namespace polypath::test::nvml_test {
namespace {

using standin::NvmlDevice;
using standin::NvmlFieldValue;
using standin::NvmlPciInfo;

class StandInNvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(nvml("nvmlInit_v2"), 0); }

  static NvmlDevice device(unsigned index) {
    NvmlDevice device = nullptr;
    EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", index, &device), 0);
    return device;
  }
};

TEST_F(StandInNvml, ShowsTheGpusThatCudaShows) {
  unsigned count = 0;
  char bus_id[32] = {};
  char* where = bus_id;
  NvmlPciInfo info{};

  ASSERT_EQ(cu("cuInit", 0U), 0);
  ASSERT_EQ(nvml("nvmlDeviceGetCount_v2", &count), 0);
  EXPECT_EQ(count, 4U);
  for (unsigned gpu = 0; gpu < count; ++gpu) {
    ASSERT_EQ(cu("cuDeviceGetPCIBusId", where, 32, static_cast<int>(gpu)), 0);
    ASSERT_EQ(nvml("nvmlDeviceGetPciInfo_v3", device(gpu), &info), 0);
    EXPECT_EQ("0000" + std::string(bus_id), info.bus_id);
    NvmlDevice found = nullptr;
    const char* asked = bus_id;
    ASSERT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", asked, &found), 0);
    EXPECT_EQ(found, device(gpu));
  }
}

// An H200 has 18 links of NVLink 4.0, all of which lead to switches.
TEST_F(StandInNvml, KnowsTheNvLinks) {
  unsigned state = 0, version = 0, type = 0;
  NvmlFieldValue field{};
  field.field = standin::kNvmlLinkCount;

  ASSERT_EQ(nvml("nvmlDeviceGetFieldValues", device(0), 1, &field), 0);
  EXPECT_EQ(field.result, 0);
  EXPECT_EQ(field.value, 18U);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", device(0), 17U, &state), 0);
  EXPECT_EQ(state, 1U);
  EXPECT_NE(nvml("nvmlDeviceGetNvLinkState", device(0), 18U, &state), 0);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkVersion", device(0), 0U, &version), 0);
  EXPECT_EQ(version, 6U);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemoteDeviceType", device(0), 0U, &type), 0);
  EXPECT_EQ(type, 2U);
}

TEST_F(StandInNvml, UnknownFieldsAndGpusAreRefused) {
  NvmlFieldValue field{};
  field.field = 12345;
  NvmlDevice none = nullptr;

  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", device(0), 1, &field), 0);
  EXPECT_EQ(field.result, standin::kNvmlNotSupported);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 4U, &none), standin::kNvmlNotFound);
  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", none, 1, &field), standin::kNvmlInvalidArgument);
}

}  // namespace
}  // namespace polypath::test::nvml_test
