#pragma once
// A program bound to addresses and a stream, and its executor.

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "driver/driver.h"
#include "model/program.h"

namespace polypath::engine {

class Stopwatch;

struct Transfer {
  const Program* program = nullptr;
  std::string_view structure;        ///< of the program: see structure_of
  std::span<const Address> buffers;  ///< the caller's, in the program's order
  StreamHandle stream;
  PlaceId stream_gpu;  ///< whose events the stream records
  std::uint64_t id = 0;
  std::span<const KernelHandle> kernels = {};  ///< those that the program's calls name
  Stopwatch* stopwatch = nullptr;              ///< of its paths; they are not timed without it
};

/// Numbers the transfers of an engine, from 1 on. Thread-safe.
class TransferIds {
 public:
  [[nodiscard]] std::uint64_t next() { return next_++; }

 private:
  std::atomic<std::uint64_t> next_{1};
};

}  // namespace polypath::engine
