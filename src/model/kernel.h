#pragma once
// Kernels: functions that a GPU runs on pieces of its own memory. What they compute is for whoever
// wrote them to say; what they read, what they write and how long they take is said where they are
// called, because order, races and predictions depend on that.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace polypath {

/// The same function on the host: gets the pieces of memory and the values, in the call's order.
using HostKernel =
    std::function<void(std::span<std::byte* const> memory, std::span<const std::uint64_t> values)>;

/// A kernel for machines of both kinds. Its parameters are an address for each piece of memory, and
/// after them 64-bit numbers.
struct Kernel {
  std::string name;         ///< of the function in the image
  std::string image;        ///< for GPUs: PTX, which the driver compiles, or a cubin
  HostKernel on_host = {};  ///< for simulated machines
};

/// How many threads run it, in one dimension.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads_per_block = 1;
  bool operator==(const LaunchShape&) const = default;
};

}  // namespace polypath
