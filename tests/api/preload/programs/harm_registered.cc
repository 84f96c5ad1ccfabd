// Programs that have host memory of their own registered: copies of it are right with all of it
// registered or a part, and in each way in which CUDA registers memory.
//
// Options: bytes (of copies), rounds.

#include <sys/mman.h>
#include <unistd.h>

#include "harm.h"

using namespace program;

namespace {

constexpr unsigned kReadOnly = 8;  // CU_MEMHOSTREGISTER_READ_ONLY
constexpr std::size_t kPage = 4096;

std::size_t bytes_of_copies() { return options().number("bytes", 64 * kMiB); }

/// Pages of the program, of a file or of none.
class Pages {
 public:
  explicit Pages(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1)
      : bytes_(bytes) {
    void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    EXPECT(begin != MAP_FAILED);
    begin_ = static_cast<unsigned char*>(begin);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { EXPECT(munmap(begin_, bytes_) == 0); }

  [[nodiscard]] unsigned char* begin() const { return begin_; }
  void fill(std::uint64_t seed) const {
    const auto bytes = pattern(bytes_, seed);
    std::memcpy(begin_, bytes.data(), bytes_);
  }
  void allow(int what) const { EXPECT(mprotect(begin_, bytes_, what) == 0); }

 private:
  std::size_t bytes_;
  unsigned char* begin_ = nullptr;
};

class Registered {
 public:
  Registered(unsigned char* begin, std::size_t bytes, unsigned flags = 0) : begin_(begin) {
    CHECK(cuMemHostRegister_v2(begin, bytes, flags));
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { CHECK(cuMemHostUnregister(begin_)); }

 private:
  unsigned char* begin_;
};

// In from there, and out again to there; or the error of the first copy, which may be of bytes that
// are registered in part only.
void there_and_back(const char* what, unsigned char* host, std::size_t bytes) {
  const CUstream stream = stream_on(0);
  const CUdeviceptr memory = memory_on(0, bytes);
  const auto wanted = pattern(bytes, 7);
  std::memcpy(host, wanted.data(), bytes);
  const CUresult result = cuMemcpyHtoDAsync_v2(memory, host, bytes, stream);
  CHECK(cuStreamSynchronize(stream));
  if (result != 0) return std::printf("%s: %d\n", what, result), void();
  std::memset(host, 0, bytes);
  say_bytes(std::string(what) + ", in", wrong_bytes(memory, wanted));
  CHECK(cuMemcpyDtoHAsync_v2(host, memory, bytes, stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes(std::string(what) + ", out", wrong_bytes(host, wanted));
  CHECK(cuMemFree_v2(memory));
}

// Within the part, over its end, from before it, and over all of it.
void a_part() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const Pages pages(3 * bytes);
  pages.fill(1);
  const Registered part(pages.begin() + bytes, bytes);
  there_and_back("within", pages.begin() + bytes, bytes);
  there_and_back("over the end", pages.begin() + bytes + bytes / 2, bytes);
  there_and_back("from before", pages.begin() + bytes / 2, bytes);
  there_and_back("over all", pages.begin() + bytes / 2, 2 * bytes);
}

// Side by side: one copy is of both.
void two_parts() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const Pages pages(2 * bytes);
  pages.fill(1);
  const Registered first(pages.begin(), bytes), second(pages.begin() + bytes, bytes);
  there_and_back("the first", pages.begin(), bytes);
  there_and_back("the second", pages.begin() + bytes, bytes);
  there_and_back("of both", pages.begin() + bytes / 2, bytes);
}

// In memory: Linux lets no driver write to pages of a file on a disk.
void a_file() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const int file = memfd_create("weights", 0);
  EXPECT(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0);
  {
    const Pages pages(bytes, MAP_SHARED, file);
    const Registered all(pages.begin(), bytes);
    there_and_back("a file", pages.begin(), bytes);
  }
  std::vector<unsigned char> got(bytes);
  EXPECT(read(file, got.data(), bytes) == static_cast<ssize_t>(bytes));
  say_bytes("what is in it", wrong_bytes(got.data(), pattern(bytes, 7)));
  EXPECT(close(file) == 0);
}

// Nothing may write to it, not even a GPU.
void read_only() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const Pages pages(bytes);
  pages.fill(3);
  pages.allow(PROT_READ);
  const Registered all(pages.begin(), bytes, kReadOnly);
  const CUdeviceptr memory = memory_on(0, bytes);
  CHECK(cuMemcpyHtoD_v2(memory, pages.begin(), bytes));
  say_bytes("in", wrong_bytes(memory, pattern(bytes, 3)));
  std::printf("out: %d\n", cuMemcpyDtoH_v2(pages.begin(), memory, bytes));
}

// Other registrations at the same addresses.
void again_and_again() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const Pages pages(bytes);
  pages.fill(3);
  for (int round = 0; round < 3; ++round) {
    const Registered all(pages.begin(), bytes, round == 1 ? kReadOnly : 0);
    if (round != 1) there_and_back("registered", pages.begin(), bytes);
  }
  there_and_back("not registered", pages.begin(), bytes);
}

void large_pages() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  const Pages pages(bytes + 2 * kMiB);
  (void)madvise(pages.begin(), bytes, MADV_HUGEPAGE);
  const Registered all(pages.begin() + kPage, bytes);
  there_and_back("large pages", pages.begin() + kPage, bytes);
}

const Scenarios kScenarios = {
    {"a_part", {1, a_part}},         {"two_parts", {1, two_parts}},
    {"a_file", {1, a_file}},         {"read_only", {1, read_only}},
    {"again", {1, again_and_again}}, {"large_pages", {1, large_pages}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
