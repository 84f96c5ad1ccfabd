// A program that copies through what stands for UCX's CUDA module, and ends contexts and streams in
// calls of its own, which nobody sees. It looks whether the bytes are right, and knows nothing of
// Polypath but the module that it is told to open, as UCX is.
//
// UCX_MODULE: what stands for UCX's module. OPENED_BEFORE: opened before it, where it names
// something.

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "../programs/cuda.h"

extern "C" {
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
}

using namespace program;

namespace {

constexpr std::size_t kBytes = 8 * kMiB + 4096 + 13;

template <class Function>
Function* find(void* module, const char* name) {
  void* found = dlsym(module, name);
  EXPECT(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

struct Ucx {
  explicit Ucx(void* module)
      : stream_create(find<CUresult(CUstream*)>(module, "uct_stream_create")),
        stream_destroy(find<CUresult(CUstream)>(module, "uct_stream_destroy")),
        copy(find<CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>(module, "uct_copy")),
        wait(find<CUresult(CUstream)>(module, "uct_wait")),
        get_handle(find<CUresult(CUipcMemHandle*, CUdeviceptr)>(module, "uct_export")),
        map(find<CUresult(CUdeviceptr*, CUipcMemHandle)>(module, "uct_map")),
        unmap(find<CUresult(CUdeviceptr)>(module, "uct_unmap")) {}

  CUresult (*stream_create)(CUstream*);
  CUresult (*stream_destroy)(CUstream);
  CUresult (*copy)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
  CUresult (*wait)(CUstream);
  CUresult (*get_handle)(CUipcMemHandle*, CUdeviceptr);
  CUresult (*map)(CUdeviceptr*, CUipcMemHandle);
  CUresult (*unmap)(CUdeviceptr);
};

Ucx* ucx = nullptr;

void open_modules() {
  const char* before = std::getenv("OPENED_BEFORE");
  if (before != nullptr && *before != '\0')
    EXPECT(dlopen(before, RTLD_NOW | RTLD_LOCAL) != nullptr);
  void* module = dlopen(std::getenv("UCX_MODULE"), RTLD_NOW | RTLD_LOCAL);
  EXPECT(module != nullptr);
  static Ucx opened(module);
  ucx = &opened;
}

// From one GPU to the next one, in a stream that lives no longer than that.
void one_copy(int gpu, std::uint64_t seed) {
  const CUdeviceptr to = memory_on(gpu + 1, kBytes), from = filled(gpu, kBytes, seed);
  use(gpu);
  CUstream stream = nullptr;
  CHECK(ucx->stream_create(&stream));
  CHECK(ucx->copy(to, from, kBytes, stream));
  CHECK(ucx->copy(to, from, kBytes, stream));
  CHECK(ucx->wait(stream));
  CHECK(ucx->stream_destroy(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, seed));
  use(gpu);
  CHECK(cuMemFree_v2(from));
  use(gpu + 1);
  CHECK(cuMemFree_v2(to));
}

void streams() {
  for (std::uint64_t i = 0; i < 12; ++i) one_copy(static_cast<int>(i % 3), i);
}

void resetting() {
  for (std::uint64_t i = 0; i < 4; ++i) {
    one_copy(0, i);
    for (int gpu = 0; gpu < 4; ++gpu) CHECK(cuDevicePrimaryCtxReset_v2(gpu));
  }
}

// UCX and Polypath may hold a context, the program does not any more.
void releasing_all() {
  for (std::uint64_t i = 0; i < 4; ++i) {
    one_copy(0, i);
    CHECK(cuCtxSetCurrent(nullptr));
    for (int gpu = 0; gpu < 4; ++gpu)
      while (cuDevicePrimaryCtxRelease_v2(gpu) == 0) {
      }
  }
}

// In contexts of the program's own, which end with streams in them.
void own_contexts() {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const CUdeviceptr to = memory_on(1, kBytes);
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr from = 0;
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuMemAlloc_v2(&from, kBytes));
    write(from, pattern(kBytes, i));
    CHECK(ucx->stream_create(&stream));
    CHECK(ucx->copy(to, from, kBytes, stream));
    CHECK(ucx->wait(stream));
    EXPECT(read(to, kBytes) == pattern(kBytes, i));
    CHECK(cuCtxDestroy_v2(context));
    one_copy(0, 10 + i);
  }
}

// Exports a GPU's memory in another process, which then waits to be killed.
CUipcMemHandle handle_of_another_process() {
  int pipe_ends[2];
  EXPECT(pipe(pipe_ends) == 0);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_modules();
    CHECK(cuInit(0));
    const CUdeviceptr memory = filled(0, kBytes, 50);
    use(0);
    CUipcMemHandle handle;
    CHECK(ucx->get_handle(&handle, memory));
    EXPECT(::write(pipe_ends[1], &handle, sizeof handle) == sizeof handle);
    for (;;) pause();
  }
  CUipcMemHandle handle;
  EXPECT(::read(pipe_ends[0], &handle, sizeof handle) == sizeof handle);
  return handle;
}

// A mapping that ends with its context, and is unmapped only then.
void unmapping_after_a_reset() {
  const CUipcMemHandle handle = handle_of_another_process();
  open_modules();
  CHECK(cuInit(0));
  use(1);
  CUdeviceptr mapped = 0;
  CUstream stream = nullptr;
  CHECK(ucx->map(&mapped, handle));
  CHECK(ucx->stream_create(&stream));
  const CUdeviceptr to = memory_on(1, kBytes);
  CHECK(ucx->copy(to, mapped, kBytes, stream));
  CHECK(ucx->wait(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 50));
  for (int gpu = 0; gpu < 4; ++gpu) CHECK(cuDevicePrimaryCtxReset_v2(gpu));
  (void)ucx->unmap(mapped);
  one_copy(0, 51);
}

const std::map<std::string, void (*)()> kCases = {
    {"streams", streams},
    {"resetting", resetting},
    {"releasing_all", releasing_all},
    {"own_contexts", own_contexts},
    {"unmapping_after_a_reset", unmapping_after_a_reset},
};

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  const auto found = kCases.find(argc > 1 ? argv[1] : "");
  if (found == kCases.end()) return 2;
  if (found->second != unmapping_after_a_reset) {
    open_modules();
    CHECK(cuInit(0));
  }
  found->second();
  std::puts("right");
  return 0;
}
