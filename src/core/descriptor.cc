#include "core/descriptor.h"

#include <sys/resource.h>
#include <unistd.h>

namespace polypath {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

bool may_write_files_of(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace polypath
