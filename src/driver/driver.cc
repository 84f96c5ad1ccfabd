#include "driver/driver.h"

#include "core/error.h"

namespace polypath {

void Driver::reduce(const CopyRequest&, const Reduction&, StreamHandle) {
  fail(ErrorCode::unsupported, "nothing can be reduced here",
       "driver '" + name() + "' has no kernels", "Simulate a machine.");
}

}  // namespace polypath
