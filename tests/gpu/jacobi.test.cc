// A Jacobi solver on real GPUs: its values are the host's to the bit, in every way.

#include "bench/jacobi.h"

#include "core/error.h"
#include "gpu/gpu_rig.h"
#include "kernels/mail.h"

namespace polypath::bench::jacobi_test {
namespace {

class GpuJacobi : public test::GpuTest {
 protected:
  void SetUp() override {
    test::GpuTest::SetUp();
    if (IsSkipped()) return;
    Driver& driver = opened_->driver();
    const PlaceId gpu = opened_->machine().places_of(PlaceKind::gpu).front();
    try {
      driver.unload_kernel(driver.load_kernel(gpu, mail_kernel(MailUse::store)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(GpuJacobi, EveryWayIsTheSerialSolverToTheBit) {
  JacobiBench bench;
  bench.sizes = {16_B, 4000_B, 16400_B, 1_MiB};
  for (const std::uint64_t rows : {1U, 2U, 8U}) {
    bench.rows = rows;

    const auto results = measure_jacobi(*opened_, bench, {});

    EXPECT_EQ(results.size(), 16U);
    for (const JacobiResult& result : results)
      EXPECT_TRUE(result.verified)
          << name_of(result.how.way) << " " << result.grid.width << " " << rows;
  }
}

}  // namespace
}  // namespace polypath::bench::jacobi_test
