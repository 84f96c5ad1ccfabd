// The CUDA driver under the conformance suite, where there are GPUs.

#include <fmt/format.h>

#include <cstring>

#include "driver/computer.h"
#include "driver/conformance.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::conformance_cuda_test {

// Its driver looks at no arguments before it uses them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverArguments);

namespace {

// The structure of the suite's machine matters to no driver: its places are what it needs.
Machine machine_of_gpus(std::size_t count) {
  Machine machine = load_machine(count >= 4 ? "h200x4" : "synthetic:0");
  if (count >= 4) return machine;
  Machine few;
  few.name = fmt::format("gpus-{}", count);
  const int places = static_cast<int>(count) + 1, host = places - 1;
  for (int gpu = 0; gpu < host; ++gpu)
    few.places.push_back({fmt::format("gpu{}", gpu), PlaceKind::gpu, "", 0, {}});
  few.places.push_back({"host0", PlaceKind::host, "", 0, {}});
  for (int from = 0; from < places; ++from)
    for (int to = 0; to < places; ++to)
      if (from != to)
        few.hops.push_back({{from},
                            {to},
                            from < host && to < host ? HopKind::peer : HopKind::host,
                            1_us,
                            {10e9},
                            {}});
  return few;
}

class CudaUnderTest final : public DriverUnderTest {
 public:
  CudaUnderTest(Machine machine, bool peer_access)
      : machine_(std::move(machine)),
        driver_(open_gpu_driver(machine_, {.peer_access = peer_access})) {
    stream_ = driver_->create_stream({0});
  }
  ~CudaUnderTest() override { driver_->destroy_stream(stream_); }

  Driver& driver() override { return *driver_; }
  const Machine& machine() const override { return machine_; }
  void write(Address address, const Contents& contents) override {
    copy(address, {reinterpret_cast<std::uintptr_t>(contents.data())}, contents.size());
  }
  Contents read(Address address, std::size_t bytes) override {
    Contents contents(bytes);
    copy({reinterpret_cast<std::uintptr_t>(contents.data())}, address, bytes);
    return contents;
  }

 private:
  void copy(Address destination, Address source, std::size_t bytes) {
    if (bytes == 0) return;
    driver_->copy_native({destination, source, Bytes{bytes}, {}}, stream_);
    driver_->synchronize(stream_);
  }

  Machine machine_;
  std::unique_ptr<Driver> driver_;
  StreamHandle stream_;
};

DriverFactory cuda(const std::string& name, bool peer_access, std::size_t gpus) {
  return {name, [peer_access, gpus]() -> std::unique_ptr<DriverUnderTest> {
            const Computer computer = look_at_computer();
            if (!computer.problem.empty() || computer.gpus.size() < gpus) return nullptr;
            return std::make_unique<CudaUnderTest>(machine_of_gpus(computer.gpus.size()),
                                                   peer_access);
          }};
}

const auto kWithAndWithoutPeers =
    testing::Values(cuda("peer_access", true, 1), cuda("no_peer_access", false, 2));
const auto kWithPeers = testing::Values(cuda("peer_access", true, 1));

INSTANTIATE_TEST_SUITE_P(Cuda, DriverConformance, kWithAndWithoutPeers, factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverFlags, kWithAndWithoutPeers, factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverKernels, kWithPeers, factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverMail, kWithPeers, factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverPieces, kWithPeers, factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverReductions, kWithPeers, factory_name);

}  // namespace
}  // namespace polypath::test::conformance_cuda_test
