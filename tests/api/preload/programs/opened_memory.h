#pragma once
// Memory of GPUs that is opened to each of them by itself: mapped at virtual addresses, as vLLM's
// sleep mode and PyTorch's expandable segments have it, and of pools.

#include <initializer_list>

#include "harm.h"

namespace program {

constexpr int kOpenToRead = 1, kOpenToWrite = 3;

inline CUmemAccessDesc opened_to(int gpu, int access = kOpenToWrite) {
  return {.location = {.type = 1, .id = gpu}, .flags = access};
}

/// Addresses of this process, and memory that is mapped there in pieces and taken away again.
class Mapped {
 public:
  static constexpr std::size_t kUnit = 2 * kMiB;  ///< of the sizes here

  explicit Mapped(std::size_t bytes) : bytes_((bytes + kUnit - 1) / kUnit * kUnit) {
    CHECK(cuMemAddressReserve(&base_, bytes_, 0, 0, 0));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    take_away();
    CHECK(cuMemAddressFree(base_, bytes_));
  }

  /// Behind what is there: a memory of its own of the GPU, which it is opened to.
  void add(int gpu, std::size_t bytes, int handle_types = 0) {
    add_again(create(gpu, bytes, handle_types), bytes);
    open_last({gpu});
  }
  /// The same memory once more, open to no GPU yet.
  void add_again(std::uint64_t memory, std::size_t bytes) {
    CHECK(cuMemMap(base_ + used_, bytes, 0, memory, 0));
    last_ = base_ + used_, last_bytes_ = bytes;
    used_ += bytes;
  }
  void open_last(std::initializer_list<int> gpus, int access = kOpenToWrite) {
    for (const int gpu : gpus) {
      const CUmemAccessDesc user = opened_to(gpu, access);
      CHECK(cuMemSetAccess(last_, last_bytes_, &user, 1));
    }
  }
  /// Fills all addresses with pieces of so many bytes.
  void fill(int gpu, std::size_t piece) {
    while (used_ < bytes_) add(gpu, std::min(piece, bytes_ - used_));
  }
  /// What is mapped goes, as memory too; the addresses stay.
  void take_away() {
    if (used_ > 0) CHECK(cuMemUnmap(base_, used_));
    for (const std::uint64_t memory : memories_) CHECK(cuMemRelease(memory));
    memories_.clear();
    used_ = 0;
  }
  /// The number of a memory that is mapped nowhere yet.
  std::uint64_t create(int gpu, std::size_t bytes, int handle_types = 0) {
    const CUmemAllocationProp wanted{.type = 1,
                                     .requestedHandleTypes = handle_types,
                                     .location = {.type = 1, .id = gpu},
                                     .win32HandleMetaData = nullptr,
                                     .allocFlags = {}};
    std::uint64_t memory = 0;
    const CUresult result = cuMemCreate(&memory, bytes, &wanted, 0);
    if (result != 0 && handle_types != 0) cannot_run("there are no such handles of memory");
    CHECK(result);
    memories_.push_back(memory);
    return memory;
  }

  [[nodiscard]] CUdeviceptr base() const { return base_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_, used_ = 0, last_bytes_ = 0;
  CUdeviceptr base_ = 0, last_ = 0;
  std::vector<std::uint64_t> memories_;
};

inline CUmemoryPool default_pool(int gpu) {
  CUmemoryPool pool = nullptr;
  CHECK(cuDeviceGetDefaultMemPool(&pool, gpu));
  return pool;
}

inline CUdeviceptr from_pool(std::size_t bytes, CUstream stream) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocAsync(&memory, bytes, stream));
  return memory;
}

/// Pinned memory with a pattern in it.
inline unsigned char* pinned_with(const std::vector<unsigned char>& bytes) {
  auto* memory = static_cast<unsigned char*>(pinned(bytes.size()));
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

}  // namespace program
