#pragma once
// Memory of every kind that a random program has, and what it should hold.

#include <sys/mman.h>

#include <random>

#include "harm.h"
#include "random_order.h"

namespace program {

/// A program is made of these numbers, and so are the bytes in its memory.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to `count` - 1.
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  T& of(std::vector<T>& all) {
    return all[below(all.size())];
  }
  /// From a byte to `most`, of all orders of magnitude, most of them large.
  std::size_t size(std::size_t most) {
    const std::size_t smallest[] = {1, 4096, 512 << 10, 2 << 20, 2 << 20, 2 << 20};
    const std::size_t low = std::min(smallest[below(std::size(smallest))], most);
    return low + below(most - low + 1);
  }
  void fill(unsigned char* bytes, std::size_t count) {
    const std::uint64_t seed = engine_();
    std::uint64_t state = seed;
    for (std::size_t at = 0; at < count; at += sizeof state) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::uint64_t word = state ^ (state >> 29);
      std::memcpy(bytes + at, &word, std::min(sizeof word, count - at));
    }
  }

 private:
  std::mt19937_64 engine_;
};

enum class Kind { device, pinned, registered, pageable, managed, imported, mapped, pooled };

struct Buffer {
  Kind kind = Kind::device;
  int gpu = 0;  ///< in whose context it was made
  CUdeviceptr address = 0;
  std::vector<unsigned char> expected = {};
  Touches touches = {};

  [[nodiscard]] std::size_t bytes() const { return expected.size(); }
  [[nodiscard]] std::string name() const {
    constexpr const char* kNames[] = {"device",  "pinned",   "registered", "pageable",
                                      "managed", "imported", "mapped",     "pooled"};
    return std::string(kNames[static_cast<int>(kind)]) + " memory of GPU " + std::to_string(gpu);
  }
  [[nodiscard]] bool on_gpu() const {
    return kind == Kind::device || kind == Kind::imported || kind == Kind::mapped ||
           kind == Kind::pooled;
  }
  [[nodiscard]] bool on_host() const {
    return kind == Kind::pinned || kind == Kind::registered || kind == Kind::pageable;
  }
  [[nodiscard]] unsigned char* host() const {
    return reinterpret_cast<unsigned char*>(address);  // NOLINT
  }
};

inline void* mapped(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(at != MAP_FAILED);
  return at;
}

constexpr std::size_t kMappedUnit = 2 * kMiB;

inline std::size_t mapped_bytes(std::size_t bytes) {
  return (bytes + kMappedUnit - 1) / kMappedUnit * kMappedUnit;
}

/// A memory of the GPU at each two MiB of new addresses, open to all GPUs.
inline CUresult map_memory(CUdeviceptr& address, int gpu, std::size_t bytes) {
  const std::size_t all = mapped_bytes(bytes);
  int gpus = 0;
  CUresult result = cuDeviceGetCount(&gpus);
  if (result == 0) result = cuMemAddressReserve(&address, all, 0, 0, 0);
  for (std::size_t at = 0; at < all && result == 0; at += kMappedUnit) {
    const CUmemAllocationProp wanted{1, 0, {1, gpu}, nullptr, {}};
    std::uint64_t memory = 0;
    result = cuMemCreate(&memory, kMappedUnit, &wanted, 0);
    if (result == 0) result = cuMemMap(address + at, kMappedUnit, 0, memory, 0);
    if (result == 0) result = cuMemRelease(memory);
  }
  for (int user = 0; user < gpus && result == 0; ++user) {
    const CUmemAccessDesc opened{{1, user}, 3};
    result = cuMemSetAccess(address, all, &opened, 1);
  }
  return result;
}

/// In the legacy stream, and there for all others; open to all GPUs that can reach it.
inline CUresult take_from_pool(CUdeviceptr& address, int gpu, std::size_t bytes) {
  CUmemoryPool pool = nullptr;
  int gpus = 0;
  CUresult result = cuDeviceGetCount(&gpus);
  if (result == 0) result = cuDeviceGetDefaultMemPool(&pool, gpu);
  for (int user = 0; user < gpus && result == 0; ++user) {
    const CUmemAccessDesc opened{{1, user}, 3};
    (void)cuMemPoolSetAccess(pool, &opened, 1);
  }
  if (result == 0) result = cuMemAllocAsync(&address, bytes, nullptr);
  return result == 0 ? cuStreamSynchronize(nullptr) : result;
}

/// Makes a buffer in the current context; its address is 0 if it cannot be had. `result` is what
/// the driver said.
inline Buffer make_buffer(Kind kind, int gpu, std::size_t bytes, CUresult& result) {
  Buffer made{kind, gpu};
  void* host = nullptr;
  result = 0;
  if (kind == Kind::device) result = cuMemAlloc_v2(&made.address, bytes);
  if (kind == Kind::mapped) result = map_memory(made.address, gpu, bytes);
  if (kind == Kind::pooled) result = take_from_pool(made.address, gpu, bytes);
  if (kind == Kind::managed) result = cuMemAllocManaged(&made.address, bytes, 1);
  if (kind == Kind::pinned) result = cuMemHostAlloc(&host, bytes, 0);
  if (kind == Kind::registered || kind == Kind::pageable) host = mapped(bytes);
  if (kind == Kind::registered) result = cuMemHostRegister_v2(host, bytes, 0);
  if (host != nullptr) made.address = reinterpret_cast<CUdeviceptr>(host);
  if (result != 0) made.address = 0;
  made.expected.resize(bytes);
  return made;
}

/// Of imported memory the mapping is closed.
inline CUresult free_buffer(const Buffer& buffer) {
  CUresult result = 0;
  if (buffer.kind == Kind::imported) return cuIpcCloseMemHandle(buffer.address);
  if (buffer.kind == Kind::pinned) return cuMemFreeHost(buffer.host());
  if (buffer.kind == Kind::pooled) return cuMemFreeAsync(buffer.address, nullptr);
  if (buffer.kind == Kind::mapped) {
    const std::size_t all = mapped_bytes(buffer.bytes());
    result = cuMemUnmap(buffer.address, all);
    return result == 0 ? cuMemAddressFree(buffer.address, all) : result;
  }
  if (!buffer.on_host()) return cuMemFree_v2(buffer.address);
  if (buffer.kind == Kind::registered) result = cuMemHostUnregister(buffer.host());
  munmap(buffer.host(), buffer.bytes());
  return result;
}

/// FNV-1a, of results and of bytes.
class Digest {
 public:
  void add(const unsigned char* bytes, std::size_t count) {
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof word, count - at));
      value_ = (value_ ^ word) * 0x100000001b3ULL;
    }
  }
  void add(int result) { value_ = (value_ ^ static_cast<unsigned>(result)) * 0x100000001b3ULL; }
  [[nodiscard]] unsigned long long value() const { return value_; }

 private:
  unsigned long long value_ = 0xcbf29ce484222325ULL;
};

}  // namespace program
