// Many large copies in a stream that is held: a program that lets the stream go only after it has
// issued all of them must get there.
//
// Options: count, bytes, watchdog (milliseconds), by (value or function).

#include "harm.h"

using namespace program;

namespace {

enum class Way { in, out, between };

struct Buffers {
  std::size_t bytes;
  CUdeviceptr first, last, far = 0;
  unsigned char *first_host, *last_host, *target;
};

constexpr unsigned char kFirst = 0x17, kLast = 0xe8;

CUdeviceptr filled_with(unsigned char value, std::size_t bytes) {
  const CUdeviceptr memory = memory_on(0, bytes);
  CHECK(cuMemsetD8_v2(memory, value, bytes));
  return memory;
}

unsigned char* pinned_with(unsigned char value, std::size_t bytes) {
  void* const memory = pinned(bytes);
  return static_cast<unsigned char*>(std::memset(memory, value, bytes));
}

// Two sources: the last copy is told apart from those before it.
Buffers make_buffers(std::size_t bytes, Way way) {
  Buffers made{};
  made.bytes = bytes;
  made.first = filled_with(kFirst, bytes);
  made.last = filled_with(kLast, bytes);
  if (way == Way::between) made.far = memory_on(1, bytes);
  use(0);
  if (way == Way::out) made.target = pinned_with(0, bytes);
  if (way == Way::in) {
    made.first_host = pinned_with(kFirst, bytes);
    made.last_host = pinned_with(kLast, bytes);
  }
  CHECK(cuCtxSynchronize());
  return made;
}

void copy(const Buffers& all, Way way, bool last, CUstream stream) {
  if (way == Way::in)
    CHECK(
        cuMemcpyHtoDAsync_v2(all.first, last ? all.last_host : all.first_host, all.bytes, stream));
  if (way == Way::out)
    CHECK(cuMemcpyDtoHAsync_v2(all.target, last ? all.last : all.first, all.bytes, stream));
  if (way == Way::between)
    CHECK(cuMemcpyDtoDAsync_v2(all.far, last ? all.last : all.first, all.bytes, stream));
}

std::size_t wrong(const Buffers& all, Way way) {
  const std::vector<unsigned char> last(all.bytes, kLast);
  if (way == Way::out) return wrong_bytes(all.target, last);
  return wrong_bytes(way == Way::in ? all.first : all.far, last);
}

void issue(const Buffers& all, Way way, std::size_t count, CUstream stream) {
  for (std::size_t i = 1; i <= count; ++i) copy(all, way, i == count, stream);
}

void deep(Way way, std::size_t usual_count, std::size_t usual_bytes) {
  const std::size_t count = options().number("count", usual_count);
  const Buffers all = make_buffers(options().number("bytes", usual_bytes), way);
  const CUstream stream = stream_on(0);
  issue(all, way, 4, stream);  // so that what is made at first copies has been made
  CHECK(cuStreamSynchronize(stream));
  Hold hold(usual_hold());
  hold.in(stream);
  const bool blocked = blocks(hold, [&] { issue(all, way, count, stream); });
  hold.release();
  CHECK(cuStreamSynchronize(stream));
  say_blocked("a deep queue", blocked);
  say_bytes("after it", wrong(all, way));
}

void few_large_out() { deep(Way::out, 20, 512 * kMiB); }
void few_large_in() { deep(Way::in, 20, 512 * kMiB); }
void few_large_between() { deep(Way::between, 20, 512 * kMiB); }
void many_chunks_out() { deep(Way::out, 9, 512 * kMiB); }
void many_chunks_in() { deep(Way::in, 9, 512 * kMiB); }
void many_chunks_between() { deep(Way::between, 9, 512 * kMiB); }
void many_small_out() { deep(Way::out, 200, 4 * kMiB); }
void many_small_in() { deep(Way::in, 200, 4 * kMiB); }
void many_small_between() { deep(Way::between, 200, 4 * kMiB); }

const Scenarios kScenarios = {
    {"few_large_out", {1, few_large_out}},
    {"few_large_in", {1, few_large_in}},
    {"few_large_between", {2, few_large_between}},
    {"many_chunks_out", {1, many_chunks_out}},
    {"many_chunks_in", {1, many_chunks_in}},
    {"many_chunks_between", {2, many_chunks_between}},
    {"many_small_out", {1, many_small_out}},
    {"many_small_in", {1, many_small_in}},
    {"many_small_between", {2, many_small_between}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
