// Memory on real GPUs: engines give all of theirs back, and managed memory is copied right.

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "driver/cuda/cuda_api.h"
#include "gpu/gpu_rig.h"
#include "support/layers.h"

namespace polypath::test::memory_test {
namespace {

using cuda::Result;

/// What only these tests need of libcuda.
template <class Function>
Function function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
  return reinterpret_cast<Function>(dlsym(library, name));
}

class GpuMemory : public GpuTest {
 protected:
  /// Makes the GPU's context current, which others retain already.
  void enter(int gpu) {
    const cuda::Functions& cuda = cuda::DriverLibrary::get().functions;
    cuda::ContextPointer context = nullptr;
    cuda::check(cuda.context_retain(&context, gpu), "cuDevicePrimaryCtxRetain");
    cuda::check(cuda.context_push(context), "cuCtxPushCurrent");
  }
  void leave(int gpu) {
    const cuda::Functions& cuda = cuda::DriverLibrary::get().functions;
    cuda::ContextPointer context = nullptr;
    cuda.context_pop(&context);
    cuda.context_release(gpu);
  }

  /// Free bytes of every GPU.
  std::vector<std::size_t> free_memory() {
    const auto ask = function<Result (*)(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
    std::vector<std::size_t> free;
    for (int gpu = 0; gpu < static_cast<int>(machine().places_of(PlaceKind::gpu).size()); ++gpu) {
      std::size_t left = 0, all = 0;
      enter(gpu);
      cuda::check(ask(&left, &all), "cuMemGetInfo");
      leave(gpu);
      free.push_back(left);
    }
    return free;
  }

  /// One copy over every pair of places, with every executor, by an engine of its own.
  void use_an_engine(const std::vector<std::size_t>& all) {
    Engine engine(driver(), machine(), Settings{});
    for (const std::size_t from : all)
      for (const std::size_t to : all)
        for (const auto executor : {Executor::stream, Executor::graph})
          if (from != to) copy(engine, buffers_[from], buffers_[to], executor);
  }

  void copy(Engine& engine, const GpuBuffer& from, GpuBuffer& to,
            std::optional<Executor> executor) {
    const PlaceId gpu = machine().places_of(PlaceKind::gpu).front();
    CopyCall call{to.address, from.address, Bytes{from.expected.size()}, stream_, gpu, {}};
    call.options.executor = executor;
    engine.copy(call);
    to.expected = from.expected;
  }

  /// The median of `call` and of waiting for it.
  template <class Call>
  double median_time(Call call) {
    std::vector<double> times;
    for (int i = 0; i < 20; ++i) {
      const Seconds start = driver().now();
      call();
      driver().synchronize(stream_);
      times.push_back((driver().now() - start).value);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

// The first engine makes what the driver itself keeps: kernels, contexts' own pools.
TEST_F(GpuMemory, EnginesGiveBackAllOfTheirs) {
  std::vector<std::size_t> all;
  for (const PlaceKind kind : {PlaceKind::gpu, PlaceKind::host})
    for (const PlaceId place : machine().places_of(kind))
      all.push_back(buffer(place, 16U << 20, all.size()));
  use_an_engine(all);
  const std::vector<std::size_t> before = free_memory();

  for (int i = 0; i < 3; ++i) use_an_engine(all);

  EXPECT_EQ(free_memory(), before);
  EXPECT_TRUE(intact());
}

// A kernel of the primary context would fault on it, and take the program's context along.
TEST_F(GpuMemory, OfAnotherContextIsNotForKernels) {
  const auto create = function<Result (*)(cuda::ContextPointer*, unsigned, int)>("cuCtxCreate_v2");
  const auto destroy = function<Result (*)(cuda::ContextPointer)>("cuCtxDestroy_v2");
  const cuda::Functions& cuda = cuda::DriverLibrary::get().functions;
  const PlaceId gpu = machine().places_of(PlaceKind::gpu).front();
  const std::size_t near = buffer(gpu, 4096, 1);
  cuda::ContextPointer context = nullptr;
  cuda::check(create(&context, 0, 0), "cuCtxCreate");
  cuda::DevicePointer memory = 0;
  cuda::check(cuda.allocate(&memory, 4096), "cuMemAlloc");

  EXPECT_TRUE(driver().kernels_reach(gpu, buffers_[near].address));
  EXPECT_FALSE(driver().kernels_reach(gpu, Address{static_cast<std::uintptr_t>(memory)}));

  cuda::check(cuda.free(memory), "cuMemFree");
  cuda::check(destroy(context), "cuCtxDestroy");
}

class Managed : public GpuMemory, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Managed,
                         testing::Values(1, 4099, std::size_t{1} << 20, std::size_t{64} << 20));

TEST_P(Managed, IsCopiedRightInBothDirections) {
  const auto allocate =
      function<Result (*)(cuda::DevicePointer*, std::size_t, unsigned)>("cuMemAllocManaged");
  constexpr unsigned kAttachGlobal = 1;
  const PlaceId gpu = machine().places_of(PlaceKind::gpu).front();
  const std::size_t bytes = GetParam();
  cuda::DevicePointer managed = 0;
  enter(0);
  cuda::check(allocate(&managed, bytes, kAttachGlobal), "cuMemAllocManaged");
  const Address there{static_cast<std::uintptr_t>(managed)};
  Engine engine(driver(), machine(), Settings{});
  const std::size_t from = buffer(gpu, bytes, 1), back = buffer(gpu, bytes, 2);
  const CopyCall out{there, buffers_[from].address, Bytes{bytes}, stream_, gpu, {}};
  const CopyCall in{buffers_[back].address, there, Bytes{bytes}, stream_, gpu, {}};

  engine.copy(out);
  engine.copy(in);
  driver().synchronize(stream_);
  buffers_[back].expected = buffers_[from].expected;

  EXPECT_TRUE(intact());
  const double native = median_time([&] {
    driver().copy_native({in.destination, in.source, in.bytes, {}}, stream_);
  });
  const double engines = median_time([&] { engine.copy(in); });
  std::printf("managed to GPU, %zu bytes: native %.2f us, engine %.2f us, %.3f x\n", bytes,
              native * 1e6, engines * 1e6, native / engines);
  cuda::DriverLibrary::get().functions.free(managed);
  leave(0);
}

}  // namespace
}  // namespace polypath::test::memory_test
