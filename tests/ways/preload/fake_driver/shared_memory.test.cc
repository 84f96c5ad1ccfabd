// Memory that processes share: what is exported is known as long as it is there, and what is
// imported is believed only if nothing about it has changed meanwhile.

#include "ways/preload/shared_memory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "driver/cuda/cuda_api.h"
#include "ways/preload/fake_driver/memory.h"
#include "support/errors.h"

namespace polypath::preload {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSize = 64 << 20;
constexpr cuda::DevicePointer kBase = 0x70000000;

std::vector<FakeMemory>& driver_memory() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  return *reinterpret_cast<std::vector<FakeMemory>* (*)()>(dlsym(library, "fake_memory"))();
}

cuda::IpcHandle handle(std::uint64_t number) {
  cuda::IpcHandle made;
  std::memcpy(made.bytes.data(), &number, sizeof number);
  return made;
}

class Shared : public testing::Test {
 protected:
  Shared() {
    if (!cuda::Library::get().problem.empty())
      throw std::runtime_error(cuda::Library::get().problem);
    driver_memory().clear();
  }
  ~Shared() override { fs::remove_all(folder_); }

  // Memory of gpu2, with a buffer ID that was never given out before.
  void allocate(cuda::DevicePointer base) {
    driver_memory().push_back({base, kSize, ++last_id_, 2});
  }
  // In a way that is not seen.
  static void free(cuda::DevicePointer base) {
    std::erase_if(driver_memory(), [&](const FakeMemory& memory) { return memory.base == base; });
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::uint64_t last_id_ = 100;
  fs::path folder_ =
      fs::temp_directory_path() / ("polypath_shared_memory_" + std::to_string(getpid()));
  cuda::Imports imports_;
  SharedMemory shared_{folder_, imports_};
  IpcRegistry registry_{folder_};  ///< as others see it
};

// --- exporting ---

using Exporting = Shared;

TEST_F(Exporting, OthersAreToldOfTheWholeAllocation) {
  allocate(kBase);

  shared_.exported(handle(1), kBase + 4096);

  const auto found = registry_.find(handle(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->base, kBase);
  EXPECT_EQ(found->size.value, kSize);
  EXPECT_EQ(found->generation, last_id_);
  EXPECT_EQ(found->owner.bytes[0], 3) << "gpu2";
}

TEST_F(Exporting, WhatIsFreedIsWithdrawn) {
  allocate(kBase);
  shared_.exported(handle(1), kBase);

  shared_.freeing(kBase);

  EXPECT_EQ(files(), 0U);
}

TEST_F(Exporting, AtTheEndEverythingIsWithdrawn) {
  allocate(kBase);
  allocate(kBase + kSize);
  shared_.exported(handle(1), kBase);
  shared_.exported(handle(2), kBase + kSize);

  shared_.end();

  EXPECT_EQ(files(), 0U);
}

TEST_F(Exporting, AnAddressThatIsUsedAgainEndsTheEntryOfWhatWasThere) {
  allocate(kBase);
  shared_.exported(handle(1), kBase);
  free(kBase);
  allocate(kBase);

  shared_.exported(handle(2), kBase);

  EXPECT_EQ(registry_.find(handle(1)), std::nullopt);
  ASSERT_TRUE(registry_.find(handle(2)));
  EXPECT_EQ(registry_.find(handle(2))->generation, last_id_);
}

TEST_F(Exporting, OneAllocationMayHaveSeveralHandles) {
  allocate(kBase);

  shared_.exported(handle(1), kBase);
  shared_.exported(handle(2), kBase);

  EXPECT_TRUE(registry_.find(handle(1)) && registry_.find(handle(2)));
}

// At other addresses every time, so that nothing says that they are gone.
TEST_F(Exporting, UnseenFreesLeaveFewFiles) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    allocate(kBase + i * kSize);
    shared_.exported(handle(i), kBase + i * kSize);
    free(kBase + i * kSize);
  }

  EXPECT_LE(files(), SharedMemory::kFewExports);
}

// Their addresses belong to other memory by now, which is nobody else's business.
TEST_F(Exporting, UnseenFreesOfAddressesThatAreUsedAgainLeaveFewFilesToo) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    allocate(kBase + i * kSize);
    shared_.exported(handle(i), kBase + i * kSize);
    free(kBase + i * kSize);
    allocate(kBase + i * kSize);
  }

  EXPECT_LE(files(), SharedMemory::kFewExports);
}

TEST_F(Exporting, WhatIsThereStaysHoweverMuchThereIs) {
  constexpr std::uint64_t kMany = 10 * SharedMemory::kFewExports;
  for (std::uint64_t i = 0; i < 2 * kMany; ++i) {
    allocate(kBase + i * kSize);
    shared_.exported(handle(i), kBase + i * kSize);
    if (i % 2 == 1) free(kBase + i * kSize);
  }

  for (std::uint64_t i = 0; i < 2 * kMany; i += 2) EXPECT_TRUE(registry_.find(handle(i))) << i;
}

// --- importing ---

class Importing : public Shared {
 protected:
  Importing() {
    cuda::Library::get().functions.context_push(reinterpret_cast<cuda::ContextPointer>(0x1001));
    driver_memory().push_back({kBase, kSize, 7, 1});
  }
  ~Importing() override {
    cuda::ContextPointer context = nullptr;
    cuda::Library::get().functions.context_pop(&context);
  }

  // As another process says it; its memory is gpu2's.
  static ExportedMemory exported(std::uint64_t generation) {
    ExportedMemory made;
    made.handle = handle(1);
    made.exporter = this_process().value();
    made.owner.bytes[0] = 3;
    made.base = 0x5000000;
    made.size = {kSize};
    made.generation = generation;
    return made;
  }
  [[nodiscard]] int owner() const { return imports_.find({kBase})->owner; }
};

TEST_F(Importing, TheOwnerIsWhoTheExporterSays) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));

  shared_.opened(handle(1), before, kBase);

  EXPECT_EQ(owner(), 2);
}

// The exporter has freed the memory and exported other memory under the same handle: nobody knows
// which of them has been mapped.
TEST_F(Importing, AnExportThatChangesMeanwhileIsNotBelieved) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));
  registry_.publish(exported(2));

  shared_.opened(handle(1), before, kBase);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatEndsMeanwhileIsNotBelieved) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));
  registry_.withdraw(handle(1));

  shared_.opened(handle(1), before, kBase);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatBeginsMeanwhileIsNotBelieved) {
  const auto before = shared_.look_up(handle(1));
  registry_.publish(exported(1));

  shared_.opened(handle(1), before, kBase);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatChangesLaterIsNotMappedAgain) {
  registry_.publish(exported(1));
  shared_.opened(handle(1), shared_.look_up(handle(1)), kBase);
  registry_.publish(exported(2));

  test::expect_error(
      ErrorCode::unsupported,
      [&] { (void)imports_.reach({kBase}, reinterpret_cast<cuda::ContextPointer>(0x1000)); },
      "freed it");
}

TEST_F(Importing, WhatIsClosedIsForgotten) {
  registry_.publish(exported(1));
  shared_.opened(handle(1), shared_.look_up(handle(1)), kBase);

  shared_.closing(kBase);

  EXPECT_TRUE(imports_.empty());
}

}  // namespace
}  // namespace polypath::preload
