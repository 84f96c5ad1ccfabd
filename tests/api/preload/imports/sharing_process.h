#pragma once
// This process on the stand-in driver, and another one whose memory it maps.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "driver/cuda/cuda_types.h"
#include "driver/driver.h"
#include "standin/peer.h"
#include "support/bytes.h"

namespace polypath::test {

/// Another process, with memory of one GPU.
class Exporter {
 public:
  explicit Exporter(int gpu);

  /// The handle of new memory with the contents of a seed.
  cuda::IpcHandle memory(Bytes size, int seed);
  /// The handle of memory that has been freed since: the driver refuses it.
  cuda::IpcHandle freed_memory(Bytes size);

 private:
  std::string allocate(Bytes size);
  cuda::IpcHandle handle_of(const std::string& memory);

  Peer peer_;
};

/// Has the primary contexts that it asks for until the test is over, and everything in them.
class SharingProcess : public testing::Test {
 protected:
  SharingProcess();
  ~SharingProcess() override;

  cuda::ContextPointer context_of(int gpu);
  Address allocate(int gpu, Bytes size);
  static void free(Address memory);
  /// Memory of another process, in a context of this one.
  Address map(int gpu, const cuda::IpcHandle& handle);
  cuda::StreamPointer stream(int gpu);

  Contents read(Address from, Bytes size);
  /// False while something is queued.
  static bool is_idle(cuda::StreamPointer stream);
  /// CUDA's number of the memory, which no other memory ever has.
  static std::uint64_t id_of(Address memory);
  /// True if the context of one GPU has been given access to the memory of another one's.
  bool is_open(int from, int to);
  /// True if the process has a primary context of the GPU.
  static bool has_context(int gpu);

  /// What the driver has been asked for since the last time: "opened ADDRESS in gpuN",
  /// "closed ADDRESS in gpuN", "refused in gpuN".
  std::vector<std::string> journal();
  static std::string opened(Address address, int gpu);
  static std::string closed(Address address, int gpu);

 private:
  std::map<int, cuda::ContextPointer> contexts_;
  std::streamoff journal_read_ = 0;  ///< how far
};

}  // namespace polypath::test
