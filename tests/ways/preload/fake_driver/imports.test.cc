// Memory of other processes: where it is, through which mapping each context reaches it, and that
// no mapping outlives what the program knows of.

#include "driver/cuda/imports.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver/cuda/cuda_driver.h"
#include "machine/library.h"
#include "ways/preload/fake_driver/journal.h"
#include "support/errors.h"

namespace polypath::cuda {
namespace {

using preload::FakeDriver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FakeDriver& fake() {
  static auto* driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    void* access = library == nullptr ? nullptr : dlsym(library, "fake_driver");
    return access == nullptr ? nullptr : reinterpret_cast<FakeDriver* (*)()>(access)();
  }();
  return *driver;
}

std::vector<std::string> journal() { return std::exchange(fake().journal, {}); }

ContextPointer context_of(int gpu) {
  return reinterpret_cast<ContextPointer>(static_cast<std::uintptr_t>(0x1000 + gpu));
}

constexpr Address kBase{0x70000000};

ImportedMemory memory(unsigned char name = 1, Address base = kBase, int owner = 0) {
  ImportedMemory made{base, 16_MiB, {}, context_of(1), owner};
  made.handle.bytes[0] = name;
  return made;
}

bool exported() { return true; }

std::string hex(Address address) { return fmt::format("{:x}", address.value); }

class ImportedBySomebody : public testing::Test {
 protected:
  ImportedBySomebody() {
    if (!Library::get().problem.empty()) throw std::runtime_error(Library::get().problem);
    (void)journal();
    fake().refuses_mappings = false;
  }
  Imports imports_;
};

TEST_F(ImportedBySomebody, IsFoundFromItsFirstByteToItsLast) {
  imports_.add(memory(), exported);

  EXPECT_EQ(imports_.find({kBase.value - 1}), std::nullopt);
  ASSERT_TRUE(imports_.find(kBase));
  EXPECT_EQ(imports_.find(kBase)->owner, 0);
  EXPECT_TRUE(imports_.find(kBase + Bytes{(16_MiB).value - 1}));
  EXPECT_EQ(imports_.find(kBase + 16_MiB), std::nullopt);
}

TEST_F(ImportedBySomebody, KeepsItsAddressWhereItWasMapped) {
  imports_.add(memory(), exported);

  EXPECT_EQ(imports_.reach(kBase + 5_B, context_of(1)).address, kBase + 5_B);
  EXPECT_EQ(imports_.reach({0x5000}, context_of(0)).address, Address{0x5000});
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(ImportedBySomebody, GetsOneMappingPerContext) {
  imports_.add(memory(), exported);

  const Reached first = imports_.reach(kBase + 5_B, context_of(0));
  const Reached again = imports_.reach(kBase + 9_B, context_of(0));
  const Reached third = imports_.reach(kBase, context_of(2));

  EXPECT_EQ(first.address, first.mapping->base() + 5_B);
  EXPECT_EQ(again.address, first.mapping->base() + 9_B);
  EXPECT_NE(third.address, first.mapping->base());
  EXPECT_THAT(journal(), ElementsAre("open 1 in gpu0 at " + hex(first.mapping->base()),
                                     "open 1 in gpu2 at " + hex(third.address)));
}

TEST_F(ImportedBySomebody, IsUnmappedAfterItsLastUse) {
  imports_.add(memory(), exported);
  Reached reached = imports_.reach(kBase, context_of(0));
  reached.mapping->note_use({(std::uintptr_t{1} << 48) | 0x77});
  reached.mapping->note_use({(std::uintptr_t{1} << 48) | 0x77});
  reached.mapping->note_use({(std::uintptr_t{1} << 48) | 0x99});
  const std::string mapped = hex(reached.address);
  reached = {};
  const auto uses = journal();
  ASSERT_EQ(uses.size(), 4U);
  const std::string first = uses[1].substr(7, 4), second = uses[3].substr(7, 4);
  EXPECT_NE(first, second) << "each stream has an event of its own";

  imports_.remove(kBase);

  EXPECT_THAT(journal(),
              ElementsAre("wait " + first, "wait " + second, "close " + mapped + " in gpu0"));
  EXPECT_EQ(imports_.find(kBase), std::nullopt);
  EXPECT_TRUE(imports_.empty());
}

TEST_F(ImportedBySomebody, StaysAsLongAsItIsOpen) {
  imports_.add(memory(), exported);
  imports_.add(memory(), exported);
  (void)imports_.reach(kBase, context_of(0));
  (void)journal();

  imports_.remove(kBase);
  EXPECT_TRUE(imports_.find(kBase));
  EXPECT_THAT(journal(), IsEmpty());

  imports_.remove(kBase);
  EXPECT_FALSE(imports_.find(kBase));
  EXPECT_THAT(journal(), ElementsAre(HasSubstr("close")));
}

// The program unmaps one allocation and maps another one at the same address.
TEST_F(ImportedBySomebody, IsMappedAnewWhenItIsOtherMemory) {
  imports_.add(memory(1), exported);
  const Address before = imports_.reach(kBase, context_of(0)).address;
  const std::uint64_t changes = imports_.changes();

  imports_.remove(kBase);
  imports_.add(memory(2), exported);
  const Address after = imports_.reach(kBase, context_of(0)).address;

  EXPECT_NE(after, before);
  EXPECT_GT(imports_.changes(), changes);
  EXPECT_THAT(journal(),
              ElementsAre("open 1 in gpu0 at " + hex(before), "close " + hex(before) + " in gpu0",
                          "open 2 in gpu0 at " + hex(after)));
}

// Nobody has said that the first one was unmapped: one of them is not what it seems.
TEST_F(ImportedBySomebody, IsNobodysWhenFactsContradict) {
  imports_.add(memory(1), exported);
  imports_.add(memory(2), exported);

  EXPECT_EQ(imports_.find(kBase)->owner, kOwnerUnknown);
  test::expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(kBase, context_of(0)); }, "freed it");
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(ImportedBySomebody, IsNotMappedAgainWhenItsExporterHasFreedIt) {
  imports_.add(memory(), [] { return false; });

  test::expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(kBase, context_of(0)); }, "freed it");

  EXPECT_FALSE(imports_.mappable(kBase));
  EXPECT_THAT(journal(), IsEmpty());
}

// Freed while it was being mapped: what was mapped may be other memory already.
TEST_F(ImportedBySomebody, IsNotUsedWhenItsExporterFreesItMeanwhile) {
  int asked = 0;
  imports_.add(memory(), [&] { return ++asked == 1; });

  test::expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(kBase, context_of(0)); }, "freed it");

  EXPECT_FALSE(imports_.mappable(kBase));
  EXPECT_THAT(journal(), ElementsAre(HasSubstr("open 1"), HasSubstr("close")));
}

TEST_F(ImportedBySomebody, IsTriedOnceWhereItCannotBeMapped) {
  imports_.add(memory(), exported);
  fake().refuses_mappings = true;
  EXPECT_THROW((void)imports_.reach(kBase, context_of(0)), Error);
  fake().refuses_mappings = false;

  EXPECT_THROW((void)imports_.reach(kBase, context_of(0)), Error);

  EXPECT_FALSE(imports_.mappable(kBase));
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(ImportedBySomebody, IsLeftAloneWhenContextsAreGone) {
  imports_.add(memory(), exported);
  (void)imports_.reach(kBase, context_of(0));
  (void)journal();

  imports_.abandon();
  EXPECT_EQ(imports_.find(kBase)->owner, kOwnerUnknown);
  imports_.remove(kBase);

  EXPECT_THAT(journal(), IsEmpty());
}

// The same through the driver, with the process's own table.
class DriverOfImports : public testing::Test {
 protected:
  DriverOfImports() {
    if (!Library::get().problem.empty()) throw std::runtime_error(Library::get().problem);
    driver_.imports().add(memory(), exported);
    (void)journal();
  }
  ~DriverOfImports() override {
    driver_.imports().remove(kBase);
    (void)journal();
  }
  [[nodiscard]] PlaceId gpu(int number) const {
    return machine_.places_of(PlaceKind::gpu)[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] CopyRequest to(int number) const {
    return {{0x1000}, gpu(number), kBase + 16_B, gpu(0), 1_MiB, {}};
  }
  // The copy goes from the owner, which issues it.
  [[nodiscard]] GraphHandle graph() { return driver_.instantiate({{to(1), {}}}); }

  Machine machine_ = load_machine("h200x4");
  CudaDriver driver_{machine_};
};

TEST_F(DriverOfImports, SaysWhoseMemoryItIs) {
  driver_.imports().remove(kBase);
  driver_.imports().add(memory(1, kBase, 3), exported);

  const auto found = driver_.find_memory(kBase + 1_MiB);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->place, gpu(3));
  EXPECT_EQ(found->base, kBase);
  EXPECT_EQ(found->size, 16_MiB);
  EXPECT_EQ(found->kind, MemoryKind::device);
}

TEST_F(DriverOfImports, SaysNothingWhereItDoesNotKnow) {
  driver_.imports().remove(kBase);
  for (const int owner : {kOwnerUnknown, kOwnerHidden, 17}) {
    driver_.imports().add(memory(1, kBase, owner), exported);
    EXPECT_EQ(driver_.find_memory(kBase), std::nullopt) << owner;
    driver_.imports().remove(kBase);
  }
}

TEST_F(DriverOfImports, CopiesByTheMappingOfTheStreamsContext) {
  driver_.copy(to(2), driver_.create_stream(gpu(2)));

  const auto did = journal();
  ASSERT_EQ(did.size(), 3U);
  const Address mapped = driver_.imports().reach(kBase, context_of(2)).address;
  EXPECT_EQ(did[0], "open 1 in gpu2 at " + hex(mapped));
  EXPECT_EQ(did[1], "copy 1000<-" + hex(mapped + 16_B) + " in gpu2");
  EXPECT_THAT(did[2], HasSubstr("record"));
}

TEST_F(DriverOfImports, LeavesTheProgramsAddressOnItsOwnStreams) {
  driver_.copy(to(2), driver_.foreign_stream(gpu(2), 0x7777));
  driver_.copy(to(1), driver_.create_stream(gpu(1)));  // where it was mapped

  const std::string source = hex(kBase + 16_B);
  EXPECT_THAT(journal(), ElementsAre("copy 1000<-" + source + " in gpu2",
                                     "copy 1000<-" + source + " in gpu1"));
}

// Without that the driver takes the detour by the host, at a seventh of the rate.
TEST_F(DriverOfImports, GraphsOpenTheOtherEndToTheContextThatCopies) {
  fake().peers.clear();

  driver_.destroy_graph(graph());

  EXPECT_THAT(fake().peers, testing::Contains("gpu0 reaches in gpu1"));
}

// The first hop of a path through gpu2, by a stream of the memory's owner.
TEST_F(DriverOfImports, StagingMemoryIsOpenToTheContextThatCopies) {
  fake().peers.clear();

  driver_.copy(to(2), driver_.create_stream(gpu(0)));

  EXPECT_THAT(fake().peers, testing::Contains("gpu0 reaches in gpu2"));
}

// Where the program maps memory it has both ends within reach, and no context is made for nothing.
TEST_F(DriverOfImports, OnTheProgramsOwnStreamsNothingIsOpened) {
  fake().peers.clear();

  driver_.copy(to(1), driver_.foreign_stream(gpu(1), 0x7777));

  EXPECT_THAT(fake().peers, IsEmpty());
}

TEST_F(DriverOfImports, GraphsUseTheMappingOfEachNodesContext) {
  const GraphHandle made = graph();
  const Address mapped = driver_.imports().reach(kBase, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre("open 1 in gpu0 at " + hex(mapped),
                                     "node 1000<-" + hex(mapped + 16_B) + " in gpu0"));

  driver_.launch(made, driver_.create_stream(gpu(1)));

  EXPECT_THAT(journal(), ElementsAre("launch", HasSubstr("record")));
  driver_.destroy_graph(made);
}

// The graph is the same, the program's addresses are the same, but the memory is not.
TEST_F(DriverOfImports, GraphsFollowWhenTheMemoryIsMappedAnew) {
  const GraphHandle made = graph();
  const StreamHandle stream = driver_.create_stream(gpu(1));
  driver_.launch(made, stream);
  driver_.imports().remove(kBase);
  driver_.imports().add(memory(2), exported);
  (void)journal();

  driver_.launch(made, stream);

  const Address mapped = driver_.imports().reach(kBase, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre("open 2 in gpu0 at " + hex(mapped),
                                     "set 1000<-" + hex(mapped + 16_B) + " in gpu0", "launch",
                                     HasSubstr("record")));
  driver_.destroy_graph(made);
}

// Memory of this process has taken the address.
TEST_F(DriverOfImports, GraphsForgetAMappingThatIsNoMore) {
  const GraphHandle made = graph();
  const StreamHandle stream = driver_.create_stream(gpu(1));
  driver_.imports().remove(kBase);
  (void)journal();

  driver_.launch(made, stream);

  EXPECT_THAT(journal(), ElementsAre("set 1000<-" + hex(kBase + 16_B) + " in gpu0", "launch"));
  driver_.destroy_graph(made);
}

// And the other way round.
TEST_F(DriverOfImports, GraphsSeeThatAnAddressHasBecomeAnImport) {
  driver_.imports().remove(kBase);
  const GraphHandle made = graph();
  driver_.imports().add(memory(), exported);
  (void)journal();

  driver_.launch(made, driver_.create_stream(gpu(1)));

  EXPECT_THAT(journal(), ElementsAre(HasSubstr("open 1 in gpu0"), HasSubstr("set 1000<-"), "launch",
                                     HasSubstr("record")));
  driver_.destroy_graph(made);
}

TEST_F(DriverOfImports, AnUpdatedNodeReachesItsNewMemory) {
  constexpr Address kOther{0x60000000};
  driver_.imports().add(memory(9, kOther), exported);
  const GraphHandle made = graph();
  (void)journal();

  driver_.update_node(made, 0, {0x2000}, kOther);

  const Address mapped = driver_.imports().reach(kOther, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre("open 9 in gpu0 at " + hex(mapped),
                                     "set 2000<-" + hex(mapped) + " in gpu0"));
  driver_.destroy_graph(made);
  driver_.imports().remove(kOther);
}

}  // namespace
}  // namespace polypath::cuda
