// Memory of another process's GPU 1 is mapped, and the mapping ends with its context. Then memory
// of this process's GPU 0 gets the same address, as it does: copies of it must be copies of GPU 0's
// memory, and the other process's must stay as it is.
//
// Options: bytes, tries (allocations until the address comes back).

#include "harm.h"
#include "pair.h"

using namespace program;

namespace {

std::size_t bytes() { return options().number("bytes", 256 * kMiB); }

// What the importer's mapping is made in.
class Mapping {
 public:
  explicit Mapping(bool own_context) : own_context_(own_context) {
    if (own_context) CHECK(cuCtxCreate_v2(&context_, 0, 0));
    else CHECK(cuDevicePrimaryCtxRetain(&context_, 0));
    CHECK(cuCtxSetCurrent(context_));
    CHECK(cuIpcOpenMemHandle_v2(&address_, hear<CUipcMemHandle>(), 1));
  }
  [[nodiscard]] CUdeviceptr address() const { return address_; }

  /// Wrong bytes of copies from it, as they are made in its context.
  [[nodiscard]] std::size_t wrong() const {
    CUdeviceptr copied = 0;
    CUstream stream = nullptr;
    CHECK(cuMemAlloc_v2(&copied, bytes()));
    CHECK(cuStreamCreate(&stream, 1));
    for (int i = 0; i < 3; ++i) CHECK(cuMemcpyDtoDAsync_v2(copied, address_, bytes(), stream));
    CHECK(cuStreamSynchronize(stream));
    return wrong_bytes(copied, pattern(bytes(), 1));
  }
  /// It ends without having been closed.
  void end() {
    if (own_context_) CHECK(cuCtxDestroy_v2(context_));
    else CHECK(cuDevicePrimaryCtxRelease_v2(0));
  }

 private:
  bool own_context_;
  CUcontext context_ = nullptr;
  CUdeviceptr address_ = 0;
};

// Memory of GPU 0 at `address`, if it comes to that; else some other.
CUdeviceptr memory_at(CUdeviceptr address) {
  const std::size_t tries = options().number("tries", 12);
  CUdeviceptr memory = 0;
  for (std::size_t i = 0; i < tries && memory != address; ++i)
    CHECK(cuMemAlloc_v2(&memory, bytes()));
  std::printf("# the address came %s\n", memory == address ? "back" : "not back");
  return memory;
}

// Copies into it and from it, within GPU 0.
void use_memory(CUdeviceptr memory) {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 1));
  CUdeviceptr source = 0, target = 0;
  CHECK(cuMemAlloc_v2(&source, bytes()));
  CHECK(cuMemAlloc_v2(&target, bytes()));
  write(source, pattern(bytes(), 7));
  CHECK(cuMemsetD8_v2(memory, 0x11, bytes()));
  CHECK(cuStreamSynchronize(nullptr));
  CHECK(cuMemcpyDtoDAsync_v2(memory, source, bytes(), stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("into it", wrong_bytes(memory, pattern(bytes(), 7)));
  write(memory, pattern(bytes(), 8));
  CHECK(cuMemcpyDtoDAsync_v2(target, memory, bytes(), stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("from it", wrong_bytes(target, pattern(bytes(), 8)));
}

// From host memory, pinned and not, and back.
void use_memory_with_host(CUdeviceptr memory) {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 1));
  auto* there = static_cast<unsigned char*>(pinned(bytes()));
  std::vector<unsigned char> back(bytes());
  const auto wanted = pattern(bytes(), 9);
  std::memcpy(there, wanted.data(), bytes());
  CHECK(cuMemcpyHtoDAsync_v2(memory, there, bytes(), stream));
  CHECK(cuMemcpyDtoHAsync_v2(back.data(), memory, bytes(), stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("into it from pinned memory", wrong_bytes(memory, wanted));
  say_bytes("out of it to malloc memory", wrong_bytes(back.data(), wanted));
}

int import(bool own_context) {
  become_other();
  Mapping mapping(own_context);
  say_bytes("the other's memory", mapping.wrong());
  mapping.end();
  use(0);
  const CUdeviceptr memory = memory_at(mapping.address());
  use_memory(memory);
  use_memory_with_host(memory);
  std::fflush(stdout);
  tell('k');
  return 0;
}

void export_memory() {
  const CUdeviceptr memory = filled(1, bytes(), 1);
  CUipcMemHandle handle;
  CHECK(cuIpcGetMemHandle(&handle, memory));
  tell(handle);
  const char done = hear<char>();
  EXPECT(done == 'k');
  EXPECT(other_ends_well());
  say_bytes("the exporter's memory", wrong_bytes(memory, pattern(bytes(), 1)));
}

const Scenarios kScenarios = {
    {"own_context", {2, export_memory}},
    {"primary_context", {2, export_memory}},
};

}  // namespace

int main(int argc, char** argv) {
  if (is_other(argc, argv)) {
    keep_memory();
    for (int i = 3; i < argc; ++i) options().read(argv[i]);
    CHECK(cuInit(0));
    return import(argv[2] == std::string("own_context"));
  }
  if (argc > 1 && kScenarios.contains(argv[1]))
    start_other(argv[0], argv[1], {argv + 2, argv + argc});
  return run_scenario(kScenarios, argc, argv);
}
