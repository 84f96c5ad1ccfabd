#pragma once
// Memory at virtual addresses, in pieces side by side, by the driver's own calls.

#include <array>

#include "standin/driver_api.h"
#include "support/layers.h"

namespace polypath::test {

class MappedPieces {
 public:
  static constexpr std::size_t kUnit = std::size_t{2} << 20;

  /// Addresses for so many bytes.
  explicit MappedPieces(std::size_t bytes) {
    note(cu("cuMemAddressReserve", &begin_, bytes, std::size_t{0}, cuda::DevicePointer{0}, 0ULL));
  }

  /// New memory of a GPU, which can be handed out; its handle.
  static std::uint64_t make(std::size_t bytes, int gpu = 0) {
    std::uint64_t memory = 0;
    cuda::MemoryProperties wanted;
    wanted.location.id = gpu, wanted.handle_types = cuda::kFileHandles;
    cu("cuMemCreate", &memory, bytes, &wanted, 0ULL);
    return memory;
  }
  /// Maps memory at an offset, open to the first two GPUs.
  void map(std::size_t offset, std::size_t bytes, std::uint64_t memory) {
    std::array<cuda::MemoryUser, 2> users;
    users[1].location.id = 1;
    note(cu("cuMemMap", begin_ + offset, bytes, std::size_t{0}, memory, 0ULL));
    note(cu("cuMemSetAccess", begin_ + offset, bytes,
            const_cast<const cuda::MemoryUser*>(users.data()), users.size()));
  }
  void unmap(std::size_t offset, std::size_t bytes) {
    note(cu("cuMemUnmap", begin_ + offset, bytes));
  }

  [[nodiscard]] cuda::DevicePointer begin() const { return begin_; }
  /// The first error of all calls.
  [[nodiscard]] cuda::Result result() const { return result_; }

 private:
  void note(cuda::Result result) {
    if (result_ == 0) result_ = result;
  }

  cuda::DevicePointer begin_ = 0;
  cuda::Result result_ = 0;
};

}  // namespace polypath::test
