#include "support/add_kernel.h"

#include <cstring>

namespace polypath::test {
namespace {

constexpr unsigned kThreads = 256;

// No alignment is asked of the host's memory.
void add_on_host(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  for (std::size_t i = 0; i < values[0]; ++i) {
    std::uint32_t element = 0;
    std::memcpy(&element, memory[1] + 4 * i, 4);
    element += static_cast<std::uint32_t>(values[1]);
    std::memcpy(memory[0] + 4 * i, &element, 4);
  }
}

constexpr const char* kImage = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry add(.param .u64 elements, .param .u64 added, .param .u64 destination,
                    .param .u64 source)
{
  .reg .pred %outside;
  .reg .b32 %block, %size, %thread, %value, %addend;
  .reg .b64 %to, %from, %count, %sum, %index, %offset;
  ld.param.u64 %to, [destination];
  ld.param.u64 %from, [source];
  ld.param.u64 %count, [elements];
  ld.param.u64 %sum, [added];
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.wide.u32 %index, %block, %size, 0;
  cvt.u64.u32 %offset, %thread;
  add.s64 %index, %index, %offset;
  setp.ge.u64 %outside, %index, %count;
  @%outside bra END;
  shl.b64 %offset, %index, 2;
  add.s64 %from, %from, %offset;
  add.s64 %to, %to, %offset;
  ld.global.u32 %value, [%from];
  cvt.u32.u64 %addend, %sum;
  add.u32 %value, %value, %addend;
  st.global.u32 [%to], %value;
END:
  ret;
}
)";

}  // namespace

Kernel add_kernel() { return {.name = "add", .image = kImage, .on_host = add_on_host}; }

LaunchShape shape_for(std::size_t elements) {
  return {.blocks = static_cast<unsigned>((elements + kThreads - 1) / kThreads),
          .threads_per_block = kThreads};
}

}  // namespace polypath::test
