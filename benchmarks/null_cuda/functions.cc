// A libcuda.so.1 whose functions do nothing and succeed: with it only our own share of a call is
// measured. Those that must answer something are in answers.cc, in place of these.

#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {

// NOLINTBEGIN(bugprone-macro-parentheses)
#define POLYPATH_DO_NOTHING(member, symbol, introduced, parameters) \
  extern "C" [[gnu::weak, gnu::visibility("default")]] Result symbol parameters { return kSuccess; }
POLYPATH_CUDA_FUNCTIONS(POLYPATH_DO_NOTHING)
#undef POLYPATH_DO_NOTHING
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace polypath::cuda
