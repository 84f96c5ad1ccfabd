#pragma once
// Buffers and streams for an operation, and the engines under test: one per lane, each knowing the
// others' load as ranks would, and each called by a thread of its own (on a simulated machine a
// virtual one); or one for all lanes, called by one thread, where the copies are asked for
// together.

#include <memory>
#include <string>
#include <vector>

#include "bench/operation.h"
#include "bench/platform.h"
#include "engine/engine.h"

namespace polypath::bench {

/// Streams and buffers of one operation at one size; gives all of it back.
class OperationRun {
 public:
  OperationRun(OpenMachine opened, const Operation& operation, Bytes bytes);
  OperationRun(const OperationRun&) = delete;
  OperationRun& operator=(const OperationRun&) = delete;
  ~OperationRun();

  /// Runs the operation once: every lane copies `window` times, then all streams are waited for.
  /// Returns the time from the first call until the last wait returned.
  Seconds run(const PlanOptions& options, int window);

  /// The same with the driver's own native copies, without an engine.
  Seconds run_driver(int window);

  /// Writes a pattern into every source and another into every destination. Needs bytes that move.
  void fill();
  /// True if every byte of every destination is its source's.
  [[nodiscard]] bool verify();

  /// How each lane's first copy was done in the last run.
  [[nodiscard]] const std::vector<CopyResult>& results() const { return results_; }
  /// Graphs that all lanes have instantiated so far.
  [[nodiscard]] std::uint64_t instantiations() const;
  [[nodiscard]] Platform& platform() { return *platform_; }
  /// The first lane's engine.
  [[nodiscard]] Engine& engine() { return *engines_.front(); }

 private:
  struct Buffers {
    Address source;
    Address destination;
    StreamHandle stream;
    PlaceId gpu;
  };

  [[nodiscard]] bool in_pageable_memory(PlaceId place) const;
  [[nodiscard]] Address allocate(PlaceId place);
  void free(PlaceId place, Address address);
  void copy(std::size_t lane, const PlanOptions& options, bool first);
  void copy_together(const std::vector<CopyCall>& calls, bool first);
  [[nodiscard]] std::vector<CopyCall> all_calls(const PlanOptions& options) const;
  void copy_by_driver(const CopyCall& call, const Lane& ends);
  template <class Copy>
  Seconds time(int window, Copy copy);
  template <class Copy>
  Seconds time_by_turns(int window, Copy copy);
  template <class Copy>
  Seconds time_by_threads(int window, Copy copy);
  template <class CopyAll>
  Seconds time_together(int window, CopyAll copy_all);
  [[nodiscard]] CopyCall call_of(std::size_t lane, const PlanOptions& options,
                                 std::size_t piece = 0) const;
  [[nodiscard]] Bytes buffer_bytes() const { return bytes_ * operation_.pieces; }
  [[nodiscard]] PlaceId gpu_of(const Lane& lane) const;

  std::unique_ptr<Platform> platform_;
  std::vector<std::unique_ptr<Engine>> engines_;
  Operation operation_;
  Bytes bytes_;
  std::vector<Buffers> buffers_;
  std::vector<CopyResult> results_;
};

}  // namespace polypath::bench
