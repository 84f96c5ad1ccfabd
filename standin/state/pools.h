#pragma once
// Pools: memory of GPUs that is given out and taken back in the order of streams.

#include <map>
#include <memory>
#include <vector>

#include "standin/state/allocations.h"

namespace polypath::standin {

struct Pool {
  int ordinal = 0;
  PlaceId gpu;
  int handle_types = 0;
  std::shared_ptr<GpuAccess> access;
};

/// Work writes garbage into memory where a stream gets it and where a stream gives it back: work of
/// others that is not in order with these places finds that, and races with it.
class Pools {
 public:
  Pools(Runner& runner, Allocations& allocations) : runner_(runner), allocations_(allocations) {}

  /// Only its own GPU may use the memory of a new pool. Its number is never 0.
  std::uintptr_t create(Pool pool);
  /// Memory that is given out stays.
  void destroy(std::uintptr_t pool);
  /// The one that the GPU has from the beginning.
  std::uintptr_t default_of(int ordinal, PlaceId gpu);
  [[nodiscard]] Pool& find(std::uintptr_t pool);

  /// In the order of the stream. What the same stream gave back is given out again at once; what
  /// another one did, once that stream is over it.
  Address allocate(std::uintptr_t pool, Bytes bytes, StreamHandle stream);
  void free(Address begin, StreamHandle stream);
  /// After all work that may use it.
  void free_now(Address begin);
  /// Takes memory from the pools that no stream will use any more.
  void trim();

 private:
  struct Spare {
    Address begin;
    StreamHandle stream;  ///< that gave it back; none: no work is left
    EventHandle given;
  };

  [[nodiscard]] bool is_over(const Spare& spare);
  [[nodiscard]] Allocation* take_spare(std::uintptr_t pool, Bytes bytes, StreamHandle stream);
  [[nodiscard]] Allocation& given_out(Address begin);
  [[nodiscard]] Address add(std::uintptr_t number, Bytes bytes);
  void spoil(const Allocation& memory, StreamHandle stream);
  void give_up(const Spare& spare);

  Runner& runner_;
  Allocations& allocations_;
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, Pool> pools_;
  std::map<int, std::uintptr_t> defaults_;
  std::vector<Spare> spare_;
};

}  // namespace polypath::standin
