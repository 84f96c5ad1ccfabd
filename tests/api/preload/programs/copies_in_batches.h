#pragma once
// Many copies in one call of the driver, as blocks of a cache are moved: from the host's memory
// into a GPU's, each block to another place, between two uses of that memory in the same stream.

#include "copies_in_streams.h"

namespace program {

/// CUmemcpyAttributes, to the end of what is used.
struct BatchAttributes {
  unsigned source_order = 1;  ///< 1: in stream order, 2: before the call returns, 3: whenever
  int hints_and_flags[5] = {};
};

class Batch {
 public:
  Batch(std::size_t blocks, std::size_t bytes)
      : blocks_(blocks),
        bytes_(bytes),
        sent_(pattern(blocks * bytes, 40)),
        gpu_(memory_on(0, blocks * bytes)),
        aside_(memory_on(0, blocks * bytes)),
        stream_(stream_on(0)) {
    use(0);
    host_ = static_cast<unsigned char*>(pinned(blocks * bytes));
    std::memcpy(host_, sent_.data(), sent_.size());
    for (std::size_t block = 0; block < blocks; ++block)
      add(gpu_ + place_of(block) * bytes, device_address(host_) + block * bytes);
  }

  void add(CUdeviceptr to, CUdeviceptr from) {
    to_.push_back(to), from_.push_back(from), sizes_.push_back(bytes_);
  }

  void copy(BatchAttributes attributes = {}) {
    std::size_t first = 0, failed = 0;
    CHECK(cuMemsetD8Async(gpu_, 0x5a, blocks_ * bytes_, stream_));
    CHECK(cuMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), to_.size(), &attributes,
                             &first, 1, &failed, stream_));
    CHECK(cuMemcpyDtoDAsync_v2(aside_, gpu_, blocks_ * bytes_, stream_));
    CHECK(cuMemsetD8Async(gpu_, 0x5a, blocks_ * bytes_, stream_));
  }

  void expect_right() {
    CHECK(cuStreamSynchronize(stream_));
    std::vector<unsigned char> expected(sent_.size());
    for (std::size_t block = 0; block < blocks_; ++block)
      std::copy_n(&sent_[block * bytes_], bytes_, &expected[place_of(block) * bytes_]);
    EXPECT(read(aside_, sent_.size()) == expected);
  }

  CUdeviceptr gpu() const { return gpu_; }
  unsigned char* host() { return host_; }
  static CUdeviceptr device_address(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
  }

 private:
  std::size_t place_of(std::size_t block) const { return (block * 7 + 3) % blocks_; }

  std::size_t blocks_, bytes_;
  std::vector<unsigned char> sent_;
  CUdeviceptr gpu_, aside_;
  CUstream stream_;
  unsigned char* host_ = nullptr;
  std::vector<CUdeviceptr> to_, from_;
  std::vector<std::size_t> sizes_;
};

inline void batch() {
  Batch batch(64, kMiB);
  for (int i = 0; i < 3; ++i) batch.copy();
  batch.expect_right();
}

inline void batch_of_small() {
  Batch batch(512, 16384);
  batch.copy();
  batch.expect_right();
}

// What the host writes as soon as the call has returned is not to be sent.
inline void batch_read_at_once() {
  Batch batch(64, kMiB);
  batch.copy({.source_order = 2});
  std::memset(batch.host(), 0xee, 64 * kMiB);
  batch.expect_right();
}

// One of the blocks comes from the GPU itself.
inline void batch_of_several_ways() {
  Batch batch(64, kMiB);
  const CUdeviceptr other = filled(0, kMiB, 41), spare = memory_on(0, kMiB);
  batch.add(spare, other);
  batch.copy();
  batch.expect_right();
  EXPECT(read(spare, kMiB) == pattern(kMiB, 41));
}

}  // namespace program
