#pragma once
// Copies by several threads, beside children, and at the end of the program.

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "copies_in_streams.h"

namespace program {

inline void threads() {
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
inline void forking() {
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
inline void forking_first() {
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

inline CUdeviceptr left_to, left_from;
inline CUstream left_stream;

// Copies of static objects and exit handlers, while everything is being taken down.
inline void copying_at_exit() {
  left_stream = stream_on(0);
  left_to = memory_on(1, kBytes);
  left_from = filled(0, kBytes, 13);
  use(0);
  std::atexit([] { (void)cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream); });
  CHECK(cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream));
}

inline struct CopiesWhenDestroyed {
  bool armed = false;
  ~CopiesWhenDestroyed() {
    if (armed) (void)cuMemcpyDtoDAsync_v2(left_to, left_from, kBytes, left_stream);
  }
} late;

inline void copying_in_destructors() {
  late.armed = true;
  copying_at_exit();
}

}  // namespace program
