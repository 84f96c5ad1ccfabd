#include "kernels/await_flag.h"

#include "kernels/images.h"

namespace polypath::kernels {

// Simulated machines wait without it.
Kernel await_flag_kernel() {
  return {.name = "await_flag",
          .image = std::string(kernel_image("await_flag")),
          .on_host = {},
          .parameters = 3};
}

std::vector<std::uint64_t> await_flag_values(std::uint32_t value, std::uint32_t then) {
  return {value, then};
}

}  // namespace polypath::kernels
