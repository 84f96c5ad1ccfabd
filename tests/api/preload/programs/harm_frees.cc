// Memory that ends while copies of it are queued: the driver's own frees wait for them where they
// have to, and a copy over several paths reads and writes it on more GPUs than the program knows
// of.
//
// Options: bytes, depth (copies that are queued), warm (rounds before).

#include <sys/mman.h>

#include "lane.h"

using namespace program;

namespace {

std::size_t bytes() { return options().number("bytes", 64 * kMiB); }
std::size_t depth() { return options().number("depth", 4); }

// Where host memory comes from and how it goes.
struct HostMemory {
  const char* name;
  void* (*make)();
  CUresult (*end)(void*);
};

void* mapped() {
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  EXPECT(memory != MAP_FAILED);
  return memory;
}

void* allocate() {
  void* memory = nullptr;
  CHECK(cuMemHostAlloc(&memory, bytes(), 1));  // portable
  return memory;
}

void* register_pages() {
  void* memory = mapped();
  CHECK(cuMemHostRegister_v2(memory, bytes(), 1));
  return memory;
}

CUresult unregister(void* memory) {
  const CUresult result = cuMemHostUnregister(memory);
  std::memset(memory, 0, bytes());
  munmap(memory, bytes());
  return result;
}

constexpr HostMemory kAllocated{"allocated", allocate,
                                [](void* memory) { return cuMemFreeHost(memory); }};
constexpr HostMemory kRegistered{"registered", register_pages, unregister};

// By the program's thread, or by another one.
CUresult ended(const HostMemory& kind, void* memory, bool by_other_thread) {
  CUresult result = 0;
  const auto end = [&] {
    use(0);
    result = kind.end(memory);
  };
  if (by_other_thread) std::thread(end).join();
  else end();
  return result;
}

void copies_of(const HostMemory& kind, Way way, bool by_other_thread) {
  Lane lane(1);
  warm_up(lane);
  const auto expected = pattern(bytes(), 7);
  const CUdeviceptr on_gpu = way == Way::in ? memory_on(0, bytes()) : filled(0, bytes(), 7);
  use(0);
  void* const memory = kind.make();
  std::memcpy(memory, expected.data(), bytes());
  for (std::size_t i = 0; i < depth(); ++i)
    CHECK(way == Way::in ? cuMemcpyHtoDAsync_v2(on_gpu, memory, bytes(), lane.stream())
                         : cuMemcpyDtoHAsync_v2(memory, on_gpu, bytes(), lane.stream()));
  const CUresult result = ended(kind, memory, by_other_thread);
  const CUresult then = cuStreamSynchronize(lane.stream());
  std::printf("%s %s: end %d, then %d\n", kind.name, text_of(way), result, then);
  if (then == 0) say_bytes("bytes", wrong_bytes(on_gpu, expected));
  CHECK(cuMemFree_v2(on_gpu));
}

void host_memory(Way way) {
  for (const HostMemory& kind : {kAllocated, kRegistered}) {
    copies_of(kind, way, false);
    copies_of(kind, way, true);
  }
}

void host_memory_in() { host_memory(Way::in); }
void host_memory_out() { host_memory(Way::out); }

// By whichever GPU's context is current.
void device_memory(Way way) {
  Lane lane(1);
  warm_up(lane);
  const auto expected = pattern(bytes(), 7);
  for (const int ends_on : {0, 1}) {
    use(0);
    auto* const host = static_cast<unsigned char*>(pinned(bytes()));
    std::memcpy(host, expected.data(), bytes());
    const CUdeviceptr first = filled(0, bytes(), 7), far = memory_on(1, bytes());
    use(0);
    for (std::size_t i = 0; i < depth(); ++i) {
      if (way == Way::in) CHECK(cuMemcpyHtoDAsync_v2(first, host, bytes(), lane.stream()));
      if (way == Way::out) CHECK(cuMemcpyDtoHAsync_v2(host, first, bytes(), lane.stream()));
      if (way == Way::between) CHECK(cuMemcpyDtoDAsync_v2(far, first, bytes(), lane.stream()));
    }
    use(ends_on);
    const CUresult result = cuMemFree_v2(first);
    use(0);
    const CUresult then = cuStreamSynchronize(lane.stream());
    std::printf("device memory %s: end %d, then %d\n", text_of(way), result, then);
    if (way != Way::in)
      say_bytes("bytes",
                way == Way::out ? wrong_bytes(host, expected) : wrong_bytes(far, expected));
    CHECK(cuMemFree_v2(far));
    CHECK(cuMemFreeHost(host));
  }
}

void device_memory_in() { device_memory(Way::in); }
void device_memory_out() { device_memory(Way::out); }
void device_memory_between() { device_memory(Way::between); }

// The pages of pinned memory stay where they are for as long as a GPU uses them.
void unmapped_pages() {
  Lane lane(1);
  warm_up(lane);
  const auto expected = pattern(bytes(), 7);
  use(0);
  const CUdeviceptr on_gpu = memory_on(0, bytes());
  void* const memory = register_pages();
  std::memcpy(memory, expected.data(), bytes());
  for (std::size_t i = 0; i < depth(); ++i)
    CHECK(cuMemcpyHtoDAsync_v2(on_gpu, memory, bytes(), lane.stream()));
  munmap(memory, bytes());
  std::printf("then %d\n", cuStreamSynchronize(lane.stream()));
  say_bytes("bytes", wrong_bytes(on_gpu, expected));
  std::printf("unregistered: %d\n", cuMemHostUnregister(memory));
}

const Scenarios kScenarios = {
    {"host_memory_in", {2, host_memory_in}},
    {"host_memory_out", {2, host_memory_out}},
    {"device_memory_in", {2, device_memory_in}},
    {"device_memory_out", {2, device_memory_out}},
    {"device_memory_between", {2, device_memory_between}},
    {"unmapped_pages", {2, unmapped_pages}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
