#pragma once
// What every driver must do, as one suite. A driver joins it in a file of its own:
//
//   class CudaUnderTest final : public DriverUnderTest { ... };
//   INSTANTIATE_TEST_SUITE_P(Cuda, DriverConformance, testing::Values(DriverFactory{"cuda", make}),
//                            factory_name);
//
// The tests speak of ordered work only, so that they hold on any machine: at any speed, an
// ordered reader sees what the writer before it wrote. DriverArguments are those tests that need a
// driver which looks its arguments up before it uses them.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "kernels/mail.h"
#include "machine/machine.h"
#include "support/bytes.h"

namespace polypath::test {

/// A driver, its machine, and a way for the host to reach the memories.
class DriverUnderTest {
 public:
  DriverUnderTest() = default;
  DriverUnderTest(const DriverUnderTest&) = delete;
  DriverUnderTest& operator=(const DriverUnderTest&) = delete;
  virtual ~DriverUnderTest() = default;

  virtual Driver& driver() = 0;
  [[nodiscard]] virtual const Machine& machine() const = 0;
  /// Writes and reads memory of any place at once; nothing queued may use it.
  virtual void write(Address address, const Contents& contents) = 0;
  virtual Contents read(Address address, std::size_t bytes) = 0;
  /// What the driver itself has found wrong with the calls; empty if it does not look.
  virtual std::vector<std::string> complaints() { return {}; }
};

struct DriverFactory {
  std::string name;
  /// Null if there is no such driver here: the tests are skipped.
  std::function<std::unique_ptr<DriverUnderTest>()> make;
};

inline std::ostream& operator<<(std::ostream& out, const DriverFactory& factory) {
  return out << factory.name;
}

inline std::string factory_name(const testing::TestParamInfo<DriverFactory>& info) {
  return info.param.name;
}

class DriverConformance : public testing::TestWithParam<DriverFactory> {
 protected:
  void SetUp() override;
  /// Gives everything back and expects no complaints.
  void TearDown() override;

  Driver& driver() { return subject_->driver(); }
  const Machine& machine() { return subject_->machine(); }
  /// The first GPU; the second one; the first host.
  PlaceId gpu() { return machine().places_of(PlaceKind::gpu).front(); }
  /// Where there is one GPU only, that one: what two do, it can do by itself.
  PlaceId peer() { return machine().places_of(PlaceKind::gpu)[has_two_gpus() ? 1 : 0]; }
  bool has_two_gpus() { return machine().places_of(PlaceKind::gpu).size() > 1; }
  PlaceId host() { return machine().places_of(PlaceKind::host).front(); }

  Address allocate(PlaceId place, Bytes bytes);
  Address allocate(PlaceId place, const Contents& contents);
  StreamHandle stream(PlaceId gpu);
  EventHandle event(PlaceId gpu);
  EventHandle timing_event(PlaceId gpu);
  GraphHandle graph(const std::vector<GraphNode>& nodes);
  KernelHandle kernel(PlaceId gpu, const Kernel& kernel);
  /// The contents once everything queued on the test's streams has finished.
  Contents read(Address address, std::size_t bytes);

  /// True if the first two GPUs reach each other's memory.
  bool has_peers();
  /// True if the driver takes the address to be in memory that it manages.
  bool knows(Address address);

  /// A copy between places that the driver knows the addresses to be at.
  CopyRequest request(Address destination, Address source, std::size_t bytes);
  void copy(Address destination, Address source, std::size_t bytes, StreamHandle stream);

  std::unique_ptr<DriverUnderTest> subject_;
  std::vector<Address> memory_;
  std::vector<StreamHandle> streams_;
  std::vector<EventHandle> events_;
  std::vector<GraphHandle> graphs_;
  std::vector<KernelHandle> kernels_;
};

/// Bytes of copies whose time does not matter.
inline constexpr std::size_t kSmall = 4096;
/// Bytes of copies that are still running when the next calls are made.
inline constexpr std::size_t kLarge = std::size_t{8} << 20;

class DriverArguments : public DriverConformance {};

/// Pieces of many sizes, and how far each end lies behind where a word of 16 bytes begins.
struct PieceOffsets {
  std::size_t pieces;
  std::size_t source = 0;
  std::size_t destination = 0;
};

/// Skipped where the driver has no kernels, or was built without them.
class DriverPieces : public DriverConformance {
 protected:
  void SetUp() override;
  bool loads();
  /// By the kernel for so many pieces at most, on the first GPU.
  void expect_copied(std::size_t most, const PieceOffsets& offsets, PlaceId from, PlaceId to);
};

/// Skipped where the driver has no kernels, or was built without them.
class DriverReductions : public DriverConformance {
 protected:
  void SetUp() override;
  /// Of the first GPU, `bytes` each, which begin `destination` and `source` bytes behind words of
  /// 16; by a graph instead of the stream.
  void expect_reduced(const Reduction& reduction, std::size_t bytes, std::size_t destination,
                      std::size_t source, bool by_graph = false);
  /// By the kernel that reduces several operands, where the driver takes it. Operand k begins
  /// k·`apart` bytes behind a word of 16; the result is where operand `result` is.
  void expect_reduced_at_once(const Reduction& reduction, const std::vector<int>& values_of,
                              std::size_t bytes, std::size_t apart, std::size_t result);
};

/// A rank of those that exchange messages, all of them on one GPU.
struct RankOnGpu {
  StreamHandle stream;
  Address mailbox;
  std::vector<Address> inputs = {}, outputs = {};  ///< by call
};

/// Kernels of several ranks that exchange messages, all ranks on the first GPU. Skipped where the
/// driver has no kernels, or was built without them.
class DriverMail : public DriverConformance {
 protected:
  void SetUp() override;
  /// What each rank has in the end is what the definition says, call after call. All input and
  /// output begins `offset` bytes behind words of 16. What is reduced is reduced as the host does
  /// it, one rank after another.
  void expect_exchanged(Mail mail, int ranks, Bytes offset = {});
  RankOnGpu make_rank(const Mail& mail, int ranks, int rank, Bytes offset);
  void run_call(KernelHandle used, const Mail& mail, const std::vector<RankOnGpu>& all, int rank,
                std::size_t call);

  Reduction reduction_ = {ReduceOperator::sum, ElementType::int32};
  Bytes box_;  ///< for a message in each mailbox

 private:
  void expect_exchanged_so(const Mail& mail, int ranks, Bytes offset);
};

/// Skipped where the driver has no flags.
class DriverFlags : public DriverConformance {
 protected:
  void SetUp() override;
};

/// Skipped where the driver has no kernels.
class DriverKernels : public DriverConformance {
 protected:
  void SetUp() override;

  /// kLarge bytes of elements that get what `source` has, and `added`.
  KernelRequest add(Address destination, Address source, std::uint32_t added);

  KernelHandle kernel_;  ///< add_kernel() on the first GPU
};

}  // namespace polypath::test
