#pragma once
// What this process shares, and the registry where others read of it.

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "api/preload/imports/sharing_process.h"
#include "api/preload/shared_memory.h"
#include "driver/cuda/cuda_api.h"
#include "support/layers.h"

namespace polypath::test {

constexpr Bytes kShared = 64_KiB;

class SharedMemoryTest : public SharingProcess {
 protected:
  ~SharedMemoryTest() override { std::filesystem::remove_all(folder_); }

  /// The driver's own are the same for the same memory; these are as many as a test wants.
  static cuda::IpcHandle handle(std::uint64_t number);
  static cuda::GpuUuid uuid_of(int gpu);

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("polypath_shared_memory_" + std::to_string(getpid()));
  cuda::Imports imports_;
  preload::SharedMemory shared_{folder_, imports_};
  preload::IpcRegistry registry_{folder_};  ///< as others see it
};

inline cuda::IpcHandle SharedMemoryTest::handle(std::uint64_t number) {
  cuda::IpcHandle made;
  std::memcpy(made.bytes.data(), &number, sizeof number);
  return made;
}

inline cuda::GpuUuid SharedMemoryTest::uuid_of(int gpu) {
  cuda::GpuUuid uuid;
  EXPECT_EQ(cuda::DriverLibrary::get().functions.device_uuid(&uuid, gpu), cuda::kSuccess);
  return uuid;
}

}  // namespace polypath::test
