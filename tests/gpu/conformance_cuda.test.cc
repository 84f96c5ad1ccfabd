// The CUDA driver under the conformance suite, where there are at least two GPUs.

#include <cstring>

#include "driver/computer.h"
#include "driver/conformance.h"
#include "machine/load_machine.h"

namespace polypath::test {

// Its driver looks at no arguments before it uses them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverArguments);

namespace {

// The structure of the suite's machine matters to no driver: its places are what it needs.
Machine machine_of_gpus(std::size_t count) {
  Machine machine = load_machine(count >= 4 ? "h200x4" : "synthetic:0");
  if (count >= 4) return machine;
  Machine two;
  two.name = "two-gpus";
  two.places = {{"gpu0", PlaceKind::gpu, "", 0, {}},
                {"gpu1", PlaceKind::gpu, "", 0, {}},
                {"host0", PlaceKind::host, "", 0, {}}};
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to)
        two.hops.push_back(
            {{from}, {to}, from < 2 && to < 2 ? HopKind::peer : HopKind::host, 1_us, {10e9}, {}});
  return two;
}

class CudaUnderTest final : public DriverUnderTest {
 public:
  CudaUnderTest(Machine machine, bool peer_access)
      : machine_(std::move(machine)), driver_(open_gpu_driver(machine_, peer_access)) {
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

DriverFactory cuda(const std::string& name, bool peer_access) {
  return {name, [peer_access]() -> std::unique_ptr<DriverUnderTest> {
            const Computer computer = look_at_computer();
            if (!computer.problem.empty() || computer.gpus.size() < 2) return nullptr;
            return std::make_unique<CudaUnderTest>(machine_of_gpus(computer.gpus.size()),
                                                   peer_access);
          }};
}

INSTANTIATE_TEST_SUITE_P(Cuda, DriverConformance,
                         testing::Values(cuda("peer_access", true), cuda("no_peer_access", false)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverFlags,
                         testing::Values(cuda("peer_access", true), cuda("no_peer_access", false)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverKernels, testing::Values(cuda("peer_access", true)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverPieces, testing::Values(cuda("peer_access", true)),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DriverReductions, testing::Values(cuda("peer_access", true)),
                         factory_name);

}  // namespace
}  // namespace polypath::test
