#pragma once
// Kernels: functions that a GPU runs on pieces of memory, its own or what a hop connects it with.
// Their author documents their computation. Each call states the memory that they read and write
// and the time that they take, because order, races and predictions depend on that.
//
// Kernels of several GPUs may **meet**: each does a first part, waits until all have done theirs,
// and does its second one with the messages that the others have left in its mailbox. A mailbox is
// memory that a GPU keeps for that, empty (all 0) at first; how kernels order its uses among
// themselves is their matter.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/layers.h"

namespace polypath::model {

/// The same function on the host: gets the pieces of memory and the values, in the call's order,
/// and behind these the lap (KernelGroup::laps) where there are several.
using HostKernel =
    std::function<void(std::span<std::byte* const> memory, std::span<const std::uint64_t> values)>;

/// A kernel for machines of both kinds. Its parameters are 64-bit numbers, and after them an
/// address for each piece of memory.
struct Kernel {
  std::string name;         ///< of the function in the image
  std::string image;        ///< for GPUs: PTX, which the driver compiles, a cubin or a fatbin
  HostKernel on_host = {};  ///< for simulated machines
  HostKernel after_exchange = {};  ///< the second part of one that meets others
  /// How many it declares; calls that have fewer are filled up with zeros. 0: as many as they have.
  std::size_t parameters = 0;
};

/// How many threads run it, in one dimension.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads_per_block = 1;
  bool operator==(const LaunchShape&) const = default;
};

/// A kernel's place among those that it meets, one of each rank.
struct KernelGroup {
  int number = 0;  ///< in its program: those that meet have the same
  int rank = 0;
  int ranks = 0;
  std::size_t mailboxes = 0;  ///< its memory from here on: the mailboxes of all ranks, in order
  int laps = 1;               ///< so often they meet in one call
};

}  // namespace polypath::model
