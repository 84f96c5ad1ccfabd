// The conformance suite of conformance.h: its fixture, and memory.

#include "driver/conformance.h"

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test {

void DriverConformance::SetUp() {
  subject_ = GetParam().make();
  if (!subject_) GTEST_SKIP() << "there is no " << GetParam().name << " here";
}

void DriverConformance::TearDown() {
  if (!subject_) return;
  for (const StreamHandle stream : streams_) driver().synchronize(stream);
  for (const GraphHandle graph : graphs_) driver().destroy_graph(graph);
  for (const KernelHandle kernel : kernels_) driver().unload_kernel(kernel);
  for (const EventHandle event : events_) driver().destroy_event(event);
  for (const StreamHandle stream : streams_) driver().destroy_stream(stream);
  for (const Address address : memory_) driver().free(address);
  EXPECT_EQ(subject_->complaints(), std::vector<std::string>{});
}

Address DriverConformance::allocate(PlaceId place, Bytes bytes) {
  memory_.push_back(driver().allocate(place, bytes));
  return memory_.back();
}

Address DriverConformance::allocate(PlaceId place, const Contents& contents) {
  const Address address = allocate(place, Bytes{contents.size()});
  subject_->write(address, contents);
  return address;
}

StreamHandle DriverConformance::stream(PlaceId gpu) {
  streams_.push_back(driver().create_stream(gpu));
  return streams_.back();
}

EventHandle DriverConformance::event(PlaceId gpu) {
  events_.push_back(driver().create_event(gpu));
  return events_.back();
}

EventHandle DriverConformance::timing_event(PlaceId gpu) {
  events_.push_back(driver().create_timing_event(gpu));
  return events_.back();
}

GraphHandle DriverConformance::graph(const std::vector<GraphNode>& nodes) {
  graphs_.push_back(driver().instantiate(nodes));
  return graphs_.back();
}

bool DriverConformance::has_peers() {
  const auto hop = machine().find_hop(gpu(), peer());
  return hop && machine().hop(*hop).kind == HopKind::peer;
}

KernelHandle DriverConformance::kernel(PlaceId gpu, const Kernel& kernel) {
  kernels_.push_back(driver().load_kernel(gpu, kernel));
  return kernels_.back();
}

Contents DriverConformance::read(Address address, std::size_t bytes) {
  for (const StreamHandle stream : streams_) driver().synchronize(stream);
  return subject_->read(address, bytes);
}

bool DriverConformance::knows(Address address) {
  const auto memory = driver().find_memory(address);
  return memory && memory->kind != MemoryKind::pageable;
}

CopyRequest DriverConformance::request(Address destination, Address source, std::size_t bytes) {
  const auto to = driver().find_memory(destination);
  const auto from = driver().find_memory(source);
  return {destination, to ? to->place : gpu(), source, from ? from->place : gpu(), Bytes{bytes},
          {}};
}

void DriverConformance::copy(Address destination, Address source, std::size_t bytes,
                             StreamHandle stream) {
  driver().copy(request(destination, source, bytes), stream);
}

namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverConformance);

TEST_P(DriverConformance, ZerosAreAllThatIsInMemoryOfZeros) {
  for (const PlaceId place : {gpu(), host()}) {
    const Address before = allocate(place, pattern(kLarge, 1));
    driver().free(before);
    std::erase(memory_, before);

    const Address zeros = driver().allocate_zeros(place, Bytes{kLarge});
    memory_.push_back(zeros);

    EXPECT_TRUE(same_bytes(read(zeros, kLarge), Contents(kLarge)));
    EXPECT_FALSE(driver().export_memory(zeros).empty());
  }
}

TEST_P(DriverConformance, MemoryIsAlignedAndFoundByEveryAddressInIt) {
  for (const PlaceId place : {gpu(), peer(), host()}) {
    const Address base = allocate(place, 1000_B);

    for (const std::uint64_t offset : {0, 1, 511, 999}) {
      const auto found = driver().find_memory(base + Bytes{offset});
      ASSERT_TRUE(found) << offset;
      EXPECT_EQ(found->place, place);
      EXPECT_EQ(found->base, base);
      EXPECT_EQ(found->size, 1000_B);
    }
    EXPECT_EQ(base.value % 512, 0U);
  }
}

TEST_P(DriverConformance, MemoryBeyondAnAllocationIsNotItsOwn) {
  const Address base = allocate(gpu(), 4096_B);

  const auto found = driver().find_memory(base + 4096_B);

  EXPECT_TRUE(!found || found->base != base);
}

TEST_P(DriverConformance, FreedMemoryIsNotFound) {
  const Address base = driver().allocate(gpu(), 4096_B);

  driver().free(base);

  EXPECT_FALSE(knows(base));
}

TEST_P(DriverConformance, StagingMemoryIsFilledFromOnePlaceAndEmptiedByItsOwn) {
  const Contents bytes = pattern(100000, 3);
  const Address staged =
      driver().allocate_staging(peer(), {.writer = gpu(), .reader = peer()}, Bytes{bytes.size()});
  const Address source = allocate(gpu(), bytes), target = allocate(host(), Bytes{bytes.size()});
  const StreamHandle into = stream(gpu()), out = stream(peer());
  const EventHandle there = event(gpu());

  const Bytes size{bytes.size()};
  driver().copy({staged, peer(), source, gpu(), size, {}}, into);
  driver().record(there, into);
  driver().wait(out, there);
  driver().copy({target, host(), staged, peer(), size, {}}, out);

  EXPECT_EQ(read(target, bytes.size()), bytes);
  driver().free(staged);
  EXPECT_THROW(driver().free(staged), Error);
}

// Both copies are of the place's own GPU.
TEST_P(DriverConformance, StagingMemoryIsFilledByItsOwnGpuAsWell) {
  const Contents bytes = pattern(100000, 4);
  const Bytes size{bytes.size()};
  driver().open_hop(gpu(), peer(), true);
  const Address staged =
      driver().allocate_staging(peer(), {.writer = peer(), .reader = peer()}, size);
  const Address source = allocate(gpu(), bytes), target = allocate(host(), size);
  const StreamHandle pulls = stream(peer());

  driver().copy({staged, peer(), source, gpu(), size, {}, true}, pulls);
  driver().copy({target, host(), staged, peer(), size, {}}, pulls);

  EXPECT_EQ(read(target, bytes.size()), bytes);
  driver().free(staged);
}

// A GPU pulls what the place's own GPU has brought there.
TEST_P(DriverConformance, StagingMemoryIsEmptiedByTheGpuThatPulls) {
  const Contents bytes = pattern(100000, 5);
  const Bytes size{bytes.size()};
  driver().open_hop(peer(), gpu(), true);
  const Address staged =
      driver().allocate_staging(peer(), {.writer = peer(), .reader = gpu()}, size);
  const Address source = allocate(host(), bytes), target = allocate(gpu(), size);
  const StreamHandle brings = stream(peer()), pulls = stream(gpu());
  const EventHandle there = event(peer());

  driver().copy({staged, peer(), source, host(), size, {}}, brings);
  driver().record(there, brings);
  driver().wait(pulls, there);
  driver().copy({target, gpu(), staged, peer(), size, {}, true}, pulls);

  EXPECT_EQ(read(target, bytes.size()), bytes);
  driver().free(staged);
}

TEST_P(DriverConformance, AllocationsDoNotOverlap) {
  std::vector<Address> bases;
  for (int i = 0; i < 32; ++i) bases.push_back(allocate(i % 2 == 0 ? gpu() : host(), 777_B));

  for (const Address base : bases)
    for (const std::uint64_t offset : {0, 776})
      EXPECT_EQ(driver().find_memory(base + Bytes{offset})->base, base);
}

TEST_P(DriverConformance, MemoryOfTheUserIsUnknown) {
  Contents own(64);

  EXPECT_FALSE(knows({reinterpret_cast<std::uintptr_t>(own.data())}));
  EXPECT_FALSE(driver().find_memory({}));
}

}  // namespace
}  // namespace polypath::test
