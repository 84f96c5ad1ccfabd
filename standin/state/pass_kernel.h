#pragma once
// A kernel of the stand-in NCCL, which has its words as parameters: a piece of a message between
// the program's memory and memory that ranks share. As the real library's kernels it holds up no
// copies of other streams.

#include <cstddef>

namespace polypath::standin {

inline constexpr const char* kPassKernel = "standin_pass";
enum PassWord : std::size_t {
  kPassBytes,
  kPassAwaits,   ///< the least value of the awaited word, 32 bits
  kPassSignals,  ///< the value that is written
  kPassSource,
  kPassDestination,
  kPassAwaited,
  kPassSignal,
  kPassWords
};

}  // namespace polypath::standin
