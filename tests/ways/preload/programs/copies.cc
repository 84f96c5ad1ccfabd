// A program that copies in one of many ways, and looks whether the bytes are right. It knows
// nothing of Polypath: the test runs it with and without.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "cuda.h"

using namespace program;

namespace {

constexpr std::size_t kBytes = 64 * kMiB + 4096 + 13;

// From one GPU to another, in a stream of the first, the way that `copy` does it.
void between_gpus(const std::function<void(CUdeviceptr, CUdeviceptr, CUstream)>& copy,
                  CUstream stream) {
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 1);
  copy(to, from, stream);
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 1));
}

void async() {
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, s)); },
               stream_on(0));
}

void of_any_kind() {
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyAsync(to, from, kBytes, s)); },
               stream_on(0));
}

void peer() {
  between_gpus(
      [](auto to, auto from, auto s) {
        CHECK(cuMemcpyPeerAsync(to, context_of(1), from, context_of(0), kBytes, s));
      },
      stream_on(0));
}

void legacy_stream() {
  use(0);
  between_gpus([](auto to, auto from, auto s) { CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, s)); },
               nullptr);
}

// The default streams of both GPUs wait for such a copy, and it for them: what the other GPU does
// before and after in a stream of its own sees either all of it or nothing.
void legacy_stream_of_two() {
  const CUdeviceptr from = filled(0, kBytes, 30), earlier = filled(1, kBytes, 31);
  const CUdeviceptr to = memory_on(1, kBytes), seen_before = memory_on(1, kBytes);
  const CUdeviceptr seen_after = memory_on(1, kBytes);
  const CUstream others = stream_on(1, 0);
  for (int i = 0; i < 3; ++i) {
    use(1);
    CHECK(cuMemcpyDtoDAsync_v2(to, earlier, kBytes, others));
    CHECK(cuMemcpyDtoDAsync_v2(seen_before, to, kBytes, others));
    use(0);
    CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, nullptr));
    use(1);
    CHECK(cuMemcpyDtoDAsync_v2(seen_after, to, kBytes, others));
  }
  CHECK(cuStreamSynchronize(others));
  EXPECT(read(seen_before, kBytes) == pattern(kBytes, 31));
  EXPECT(read(seen_after, kBytes) == pattern(kBytes, 30));
}

void per_thread_stream() {
  between_gpus(
      [](auto to, auto from, auto) {
        CHECK(cuMemcpyAsync_ptsz(to, from, kBytes, nullptr));
        CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(2)));
      },
      stream_on(0));
}

void blocking() {
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 2);
  CHECK(cuMemcpyDtoD_v2(to, from, kBytes));
  EXPECT(read(to, kBytes) == pattern(kBytes, 2));
}

// Into a GPU and out of another one, pinned and pageable; every call has returned when it is done.
void host_blocking() {
  use(2);
  const auto bytes = pattern(kBytes, 3);
  auto* source = static_cast<unsigned char*>(pinned(kBytes));
  std::copy(bytes.begin(), bytes.end(), source);
  const CUdeviceptr on_gpu = memory_on(2, kBytes);
  CHECK(cuMemcpyHtoD_v2(on_gpu, source, kBytes));
  std::vector<unsigned char> pageable(kBytes);
  CHECK(cuMemcpyDtoH_v2(pageable.data(), on_gpu, kBytes));
  EXPECT(pageable == bytes);
  const auto others = pattern(kBytes, 4);
  CHECK(cuMemcpyHtoD_v2(on_gpu, others.data(), kBytes));
  CHECK(cuMemcpy(reinterpret_cast<CUdeviceptr>(source), on_gpu, kBytes));
  EXPECT(std::equal(others.begin(), others.end(), source));
}

void host_async() {
  use(1);
  const auto bytes = pattern(kBytes, 5);
  auto* there = static_cast<unsigned char*>(pinned(kBytes));
  auto* back = static_cast<unsigned char*>(pinned(kBytes));
  std::copy(bytes.begin(), bytes.end(), there);
  const CUstream stream = stream_on(1);
  const CUdeviceptr on_gpu = memory_on(1, kBytes);
  CHECK(cuMemcpyHtoDAsync_v2(on_gpu, there, kBytes, stream));
  CHECK(cuMemcpyDtoHAsync_v2(back, on_gpu, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(std::equal(bytes.begin(), bytes.end(), back));
}

// What comes before in the stream is seen, what comes after does not disturb: ten times over.
void in_order() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr first = filled(0, kBytes, 6), second = filled(0, kBytes, 7);
  const CUdeviceptr middle = memory_on(0, kBytes), to = memory_on(1, kBytes);
  for (int i = 0; i < 10; ++i) {
    use(0);
    CHECK(cuMemcpyDtoDAsync_v2(middle, i % 2 == 0 ? first : second, kBytes, stream));
    CHECK(cuMemcpyDtoDAsync_v2(to, middle, kBytes, stream));
    CHECK(cuMemcpyDtoDAsync_v2(middle, i % 2 == 0 ? second : first, kBytes, stream));
    if (i < 8) continue;
    CHECK(cuStreamSynchronize(stream));
    EXPECT(read(to, kBytes) == pattern(kBytes, i % 2 == 0 ? 6 : 7));
  }
}

void small_only() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr to = memory_on(1, kMiB), from = filled(0, kMiB, 8);
  for (int i = 0; i < 100; ++i) CHECK(cuMemcpyDtoDAsync_v2(to, from, kMiB - 1, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(!has_context(2) && !has_context(3));
}

// GPUs that no plan uses get no context, and the first GPU is none of our business here.
void no_more_contexts() {
  const CUstream stream = stream_on(2);
  const CUdeviceptr to = memory_on(3, kBytes), from = filled(2, kBytes, 9);
  use(2);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(!has_context(0) && !has_context(1));
}

void capturing() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr to = memory_on(1, kBytes), from = filled(0, kBytes, 10);
  use(0);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  CUgraph graph = nullptr;
  std::size_t nodes = 0;
  CHECK(cuStreamBeginCapture_v2(stream, 0));
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 1);
}

void own_context() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const CUdeviceptr to = memory_on(1, kBytes);
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr from = 0;
  CHECK(cuMemAlloc_v2(&from, kBytes));
  write(from, pattern(kBytes, 11));
  CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 11));
}

// The GPU's primary context is nobody's business here.
void memory_of_own_context() {
  CUcontext context = nullptr;
  CHECK(cuCtxCreate_v2(&context, 0, 1));
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr to = 0;
  CHECK(cuMemAlloc_v2(&to, kBytes));
  const CUdeviceptr from = filled(0, kBytes, 12);
  const CUstream stream = stream_on(0);
  CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  EXPECT(read(to, kBytes) == pattern(kBytes, 12));
  EXPECT(!has_context(1));
}

// The driver's own answer is what the program gets, and nothing is copied.
void beyond_the_end() {
  const CUdeviceptr to = memory_on(1, 2 * kBytes), from = memory_on(0, kBytes);
  use(0);
  const CUresult result = cuMemcpyDtoDAsync_v2(to, from, 2 * kBytes, stream_on(0));
  EXPECT(result != 0);
}

void managed() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr from = filled(0, kBytes, 12);
  CUdeviceptr to = 0;
  CHECK(cuMemAllocManaged(&to, kBytes, 1));
  CHECK(cuMemcpyAsync(to, from, kBytes, stream));
  CHECK(cuStreamSynchronize(stream));
  const auto expected = pattern(kBytes, 12);
  EXPECT(std::memcmp(reinterpret_cast<void*>(to), expected.data(), kBytes) == 0);
}

void threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([i] {
      const CUstream stream = stream_on(i);
      const CUdeviceptr from = filled(i, kBytes, 20 + static_cast<std::uint64_t>(i));
      const CUdeviceptr to = memory_on((i + 1) % 4, kBytes);
      use(i);
      for (int k = 0; k < 5; ++k) CHECK(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
      CHECK(cuStreamSynchronize(stream));
      EXPECT(read(to, kBytes) == pattern(kBytes, 20 + static_cast<std::uint64_t>(i)));
    });
  for (std::thread& one : all) one.join();
}

// The child copies nothing, and says nothing either.
void forking() {
  async();
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr nothing = 0;
    std::exit(cuMemcpyDtoDAsync_v2(nothing, nothing, kBytes, nullptr) == 0 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  async();
}

// A child of a process that has not copied yet is a process like any other.
void forking_first() {
  const pid_t child = fork();
  if (child == 0) {
    CHECK(cuInit(0));
    async();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CUdeviceptr left_to, left_from;
CUstream left_stream;

// Copies of static objects and exit handlers, while everything is being taken down.
void copying_at_exit() {
  left_stream = stream_on(0);
  left_to = memory_on(1, kBytes);
  left_from = filled(0, kBytes, 13);
  use(0);
  std::atexit([] { (void)cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream); });
  CHECK(cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream));
}

struct CopiesWhenDestroyed {
  bool armed = false;
  ~CopiesWhenDestroyed() {
    if (armed) (void)cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream);
  }
} late;

void copying_in_destructors() {
  late.armed = true;
  copying_at_exit();
}

void resetting() {
  async();
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  CHECK(cuDevicePrimaryCtxReset_v2(1));
  async();
}

// Before anything has been copied there is nothing to lose.
void resetting_first() {
  (void)memory_on(0, kBytes);
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  async();
}

using Copy = CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);

void copy_with(Copy copy) {
  EXPECT(copy != nullptr);
  between_gpus([&](auto to, auto from, auto s) { CHECK(copy(to, from, kBytes, s)); }, stream_on(0));
}

void by_dlsym() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  copy_with(reinterpret_cast<Copy>(dlsym(driver, "cuMemcpyDtoDAsync_v2")));
}

// As the CUDA runtime does.
void by_request() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  auto request =
      reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver, "cuGetProcAddress_v2"));
  void* again = nullptr;
  void* copy = nullptr;
  int status = 0;
  CHECK(request("cuGetProcAddress", &again, 12000, 0, &status));
  CHECK(reinterpret_cast<decltype(request)>(again)("cuMemcpyDtoDAsync", &copy, 3020, 0, &status));
  copy_with(reinterpret_cast<Copy>(copy));
}

// dlsym goes on to find for everybody what it found before.
void other_lookups() {
  EXPECT(dlsym(RTLD_DEFAULT, "malloc") != nullptr);
  EXPECT(dlsym(RTLD_DEFAULT, "no_such_function_anywhere") == nullptr);
  EXPECT(dlerror() != nullptr);
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  EXPECT(dlsym(driver, "cuMemAlloc_v2") != nullptr);
  EXPECT(dlsym(driver, "cuNoSuchFunction") == nullptr);
  // What comes after the program is what it uses itself: nobody in between may be taken for it.
  EXPECT(dlsym(RTLD_NEXT, "dlsym") == reinterpret_cast<void*>(&dlsym));
}

const std::map<std::string, void (*)()> kCases = {
    {"async", async},
    {"of_any_kind", of_any_kind},
    {"peer", peer},
    {"legacy_stream", legacy_stream},
    {"legacy_stream_of_two", legacy_stream_of_two},
    {"per_thread_stream", per_thread_stream},
    {"blocking", blocking},
    {"host_blocking", host_blocking},
    {"host_async", host_async},
    {"in_order", in_order},
    {"small_only", small_only},
    {"no_more_contexts", no_more_contexts},
    {"capturing", capturing},
    {"own_context", own_context},
    {"memory_of_own_context", memory_of_own_context},
    {"beyond_the_end", beyond_the_end},
    {"managed", managed},
    {"threads", threads},
    {"forking", forking},
    {"forking_first", forking_first},
    {"copying_at_exit", copying_at_exit},
    {"copying_in_destructors", copying_in_destructors},
    {"resetting", resetting},
    {"resetting_first", resetting_first},
    {"by_dlsym", by_dlsym},
    {"by_request", by_request},
    {"other_lookups", other_lookups},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int main(int argc, char** argv) {
  keep_memory();
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "--list")
    for (const auto& named : kCases) std::puts(named.first.c_str());
  const auto found = kCases.find(asked);
  if (found == kCases.end()) return asked == "--list" ? 0 : 2;
  if (found->first != "forking_first") CHECK(cuInit(0));
  found->second();
  std::puts("right");
  return 0;
}
