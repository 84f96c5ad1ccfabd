// A thread that looks at a flag until it has a value: see await_flag.h.

#include <cstdint>

namespace {

struct Parameters {
  std::uint64_t value, then;
  std::uint32_t* flag;
};

constexpr unsigned kNanosecondsBetweenLooks = 20;

__device__ std::uint32_t acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(1)
    await_flag(const __grid_constant__ Parameters parameters) {
  while (acquire(parameters.flag) != static_cast<std::uint32_t>(parameters.value))
    __nanosleep(kNanosecondsBetweenLooks);
  *static_cast<volatile std::uint32_t*>(parameters.flag) =
      static_cast<std::uint32_t>(parameters.then);
  __threadfence_system();
}
