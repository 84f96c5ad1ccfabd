// A program that loads weights as safetensors and torch.load do: preload_loads BYTES TENSOR PASSES
// [PAUSE] copies TENSOR bytes at a time of a mapped file into one pinned block (PAUSE: instead it
// sleeps for so many microseconds), copies that to the GPU and waits. Per pass it prints a line
// "PASS SECONDS READ COPY WAIT CPU OTHERS": the pass, and within it reading, the copies' calls, the
// waits, the CPU time of this thread in those two, and that of all other threads.

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"

using namespace program;

namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Adds the time of a scope to a sum.
class Timed {
 public:
  explicit Timed(double& sum, clockid_t clock = CLOCK_MONOTONIC)
      : sum_(sum), clock_(clock), start_(now(clock)) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ += now(clock_) - start_; }

 private:
  double& sum_;
  clockid_t clock_;
  double start_;
};

struct Loading {
  std::vector<unsigned char> content;
  const unsigned char* file = nullptr;
  void* block = nullptr;
  std::vector<CUdeviceptr> tensors;
  std::size_t tensor = 0;
  unsigned pause = 0;  // microseconds
};

/// A file without a name that is mapped, as a file of weights is.
const unsigned char* mapped(const std::vector<unsigned char>& content) {
  const int file = memfd_create("weights", 0);
  EXPECT(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  void* const at = mmap(nullptr, content.size(), PROT_READ, MAP_SHARED, file, 0);
  EXPECT(at != MAP_FAILED);
  close(file);
  return static_cast<const unsigned char*>(at);
}

struct Times {
  double pass = 0, read = 0, copy = 0, wait = 0, cpu = 0, all = 0, mine = 0;
};

void load_one(const Loading& loading, std::size_t index, Times& times) {
  {
    const Timed timed(times.read);
    if (loading.pause > 0) usleep(loading.pause);
    else std::memcpy(loading.block, loading.file + index * loading.tensor, loading.tensor);
  }
  const Timed cpu(times.cpu, CLOCK_THREAD_CPUTIME_ID);
  {
    const Timed timed(times.copy);
    CHECK(cuMemcpyHtoDAsync_v2(loading.tensors[index], loading.block, loading.tensor, nullptr));
  }
  const Timed timed(times.wait);
  CHECK(cuStreamSynchronize(nullptr));
}

Times load(const Loading& loading) {
  Times times;
  {
    const Timed pass(times.pass), all(times.all, CLOCK_PROCESS_CPUTIME_ID),
        mine(times.mine, CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t index = 0; index < loading.tensors.size(); ++index)
      load_one(loading, index, times);
  }
  return times;
}

void verify(const Loading& loading) {
  for (std::size_t index = 0; index < loading.tensors.size(); ++index)
    EXPECT(std::memcmp(read(loading.tensors[index], loading.tensor).data(),
                       loading.content.data() + index * loading.tensor, loading.tensor) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, std::size_t otherwise) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  CHECK(cuInit(0));
  use(0);
  Loading loading;
  loading.tensor = number(2, 4 * kMiB);
  loading.content = pattern(number(1, 32 * kMiB), 1);
  loading.file = mapped(loading.content);
  loading.pause = static_cast<unsigned>(number(4, 0));
  loading.block = pinned(loading.tensor);
  for (std::size_t at = 0; at + loading.tensor <= loading.content.size(); at += loading.tensor)
    loading.tensors.push_back(memory_on(0, loading.tensor));
  const std::size_t passes = number(3, 3);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const Times times = load(loading);
    std::printf("%zu %.6f %.6f %.6f %.6f %.6f %.6f\n", pass, times.pass, times.read, times.copy,
                times.wait, times.cpu, times.all - times.mine);
  }
  if (loading.pause == 0) verify(loading);
  return 0;
}
