#pragma once
// Words of memory that streams and graphs write and wait for.

#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {

/// As check(), but a GPU or driver without such calls is an Error (unsupported) in words.
void check_flags(Result result, const char* call);

}  // namespace polypath::cuda
