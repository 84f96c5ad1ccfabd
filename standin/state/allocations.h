#pragma once
// CUDA's knowledge of memory beyond its place: kind, context, and pointer attributes.

#include <map>
#include <memory>
#include <optional>

#include "standin/failure.h"
#include "standin/state/addresses.h"
#include "standin/state/runner.h"
#include "standin/state/segment.h"
#include "standin/state/window.h"

namespace polypath::standin {

enum class MemoryOrigin {
  device,      ///< cuMemAlloc
  imported,    ///< cuIpcOpenMemHandle: of a GPU, made by another process
  pinned,      ///< cuMemHostAlloc
  registered,  ///< cuMemHostRegister: the program's own, as pinned memory
  managed,     ///< cuMemAllocManaged
  mapped,      ///< cuMemMap: of a GPU, and of no context
  pooled,      ///< cuMemAllocAsync: of a GPU, and of no context
};

/// CU_MEM_ACCESS_FLAGS by GPU: 1 to read, 3 to write as well. GPUs without an entry may do neither.
using GpuAccess = std::map<int, int>;
constexpr int kMayRead = 1, kMayWrite = 3;

struct Allocation {
  MemoryOrigin origin = MemoryOrigin::device;
  Address base;
  Bytes size;
  ContextPointer context = nullptr;
  int ordinal = 0;  ///< of the context's GPU
  PlaceId gpu;      ///< of which it is memory: of imported memory another one
  std::uint64_t id = 0;
  unsigned flags = 0;
  bool synchronous_copies = false;   ///< CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  std::shared_ptr<Segment> segment;  ///< of device, imported, mapped and pooled memory
  /// Of mapped and pooled memory; all memory of a pool shares the pool's.
  std::shared_ptr<GpuAccess> access;
  int handle_types = 0;     ///< by which it may be shared, of mapped and pooled memory
  Address reserved;         ///< of mapped memory: the reservation that it lies in
  Bytes reserved_size;      ///< of that
  bool lives_on = false;    ///< of mapped memory: elsewhere, when it is unmapped here
  std::uintptr_t pool = 0;  ///< of pooled memory
  bool freed = false;       ///< of pooled memory: the pool has it back, or will in stream order
  int opened = 0;           ///< how often an imported handle was
};

/// True of memory that only those GPUs may touch to which it was opened.
inline bool is_opened(const Allocation& memory) {
  return memory.origin == MemoryOrigin::mapped || memory.origin == MemoryOrigin::pooled;
}

/// All memory that the program got from the driver or told it of. The runner holds the same
/// ranges; here is what only CUDA makes of them.
class Allocations {
 public:
  /// A chaotic driver hands addresses out again soon, and leaves garbage in what was freed.
  Allocations(Runner& runner, bool chaotic)
      : runner_(runner), chaotic_(chaotic), addresses_(chaotic) {}

  /// Memory of a GPU: hidden bytes at addresses that fault. Error (out_of_memory).
  Address add_device(PlaceId gpu, Allocation memory);
  /// Addresses without memory, and back.
  Address reserve(Bytes size) { return addresses_.take(size); }
  void give_back(Address begin, Bytes size) { addresses_.give_back(begin, size); }
  /// The same with a number of its own again: a pool hands out memory that was freed before.
  void renew(Allocation& memory) { memory.id = ++last_id_; }
  /// Memory of a GPU at addresses that were reserved, with a window behind them; they stay so when
  /// it is removed.
  void add_mapped(PlaceId gpu, Allocation memory, std::shared_ptr<Window> window);
  /// Memory of a host that all GPUs and the host may touch.
  Address add_host(PlaceId host, Allocation memory);
  /// The program's own memory at memory.base.
  void add_registered(PlaceId host, Allocation memory);
  /// Gives up the memory at exactly `base`, if it is of `origin`; else refuses with `otherwise`.
  void remove(Address base, MemoryOrigin origin, Result otherwise);

  /// The memory that contains the address; null if CUDA does not know it.
  [[nodiscard]] Allocation* find(Address address);
  /// The same; refuses (invalid value) where there is none.
  Allocation& get(Address address);
  /// True if any of the bytes is known memory.
  [[nodiscard]] bool overlaps(Address begin, Bytes bytes) const;
  /// The imported mapping of this segment in this context.
  [[nodiscard]] Allocation* find_import(const SegmentName& name, ContextPointer context);
  /// Bytes of a GPU that contexts of this process have allocated.
  [[nodiscard]] Bytes used(int ordinal) const;
  /// Gives up everything of a context.
  void remove_all(ContextPointer context);

 private:
  Allocation& add(Allocation memory);
  void give_up(const Allocation& memory);

  Runner& runner_;
  bool chaotic_;
  Addresses addresses_;
  std::uint64_t last_id_ = 0;
  std::map<Address, Allocation> table_;
};

}  // namespace polypath::standin
