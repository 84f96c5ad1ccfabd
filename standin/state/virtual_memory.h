#pragma once
// Memory of GPUs apart from addresses: made, mapped at addresses that were reserved, opened to some
// GPUs, and given back piece by piece. None of that waits for anything.

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "standin/state/allocations.h"

namespace polypath::standin {

class VirtualMemory {
 public:
  /// Sizes and addresses are multiples of it.
  static constexpr std::uint64_t kGranularity = 2 << 20;

  explicit VirtualMemory(Allocations& allocations) : allocations_(allocations) {}

  using Uuid = std::array<unsigned char, 16>;  ///< of a GPU

  /// Memory of the GPU at no address; its handle. Refuses (invalid value) sizes that do not fit.
  std::uint64_t create(int ordinal, const Uuid& gpu, Bytes size, int handle_types);
  /// Another handle of the same memory, as another process would get it.
  std::uint64_t import(std::uint64_t handle);
  /// One more reference to the memory that is mapped there. Refuses (invalid value).
  std::uint64_t retain(Address address);
  /// One reference less. Without any the memory lives on where it is mapped.
  void release(std::uint64_t handle);
  /// A file that stands for the memory, for another process; the caller's. Refuses (invalid value)
  /// memory that was not made for that.
  [[nodiscard]] int file_of(std::uint64_t handle) const;
  /// The GPU of such a file. Refuses (invalid value) other files.
  static Uuid gpu_of_file(int file);
  /// The memory of such a file, of a GPU with that number here; its handle.
  std::uint64_t import_file(int file, int ordinal);

  [[nodiscard]] Address reserve(Bytes size);
  void free_address(Address begin, Bytes size);

  /// Refuses (invalid value) addresses that are not reserved, or taken. Memory may be mapped at
  /// several addresses, and several memories in one reservation.
  void map(Address begin, Bytes size, std::uint64_t handle, PlaceId gpu);
  /// One or more whole mappings without a gap.
  void unmap(Address begin, Bytes size);
  /// What the GPU may do with whole mappings.
  void open(Address begin, Bytes size, int ordinal, int access);

  [[nodiscard]] int ordinal_of(std::uint64_t handle) const { return find(handle).ordinal; }
  [[nodiscard]] int handle_types_of(std::uint64_t handle) const {
    return find(handle).handle_types;
  }
  /// Bytes of a GPU that are not given back.
  [[nodiscard]] Bytes used(int ordinal) const;

 private:
  struct Physical {
    int ordinal = 0;
    Bytes size;
    int handle_types = 0;
    std::shared_ptr<Segment> segment;
    int references = 1;
    int mappings = 0;
    bool imported = false;  ///< it counts as that of the first handle
  };

  struct Reservation {
    Bytes size;
    std::shared_ptr<Window> window;
  };

  [[nodiscard]] const Physical& find(std::uint64_t handle) const;
  /// The whole mappings that fill the range, in order; refuses any other range.
  [[nodiscard]] std::vector<Address> mappings_in(Address begin, Bytes size);
  void unmap_one(Address begin);
  void give_up_if_unused(std::uint64_t handle);

  Allocations& allocations_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Physical> physical_;
  std::map<Address, Reservation> reserved_;
  std::map<Address, std::uint64_t> mapped_;  ///< handles
};

}  // namespace polypath::standin
