#pragma once
// Whether a sanitizer slows this program down; long tests then do less of the same.

#include "support/layers.h"

namespace polypath::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace polypath::test
