#pragma once
// Memory that the program brings in when it is touched, by handlers of its own.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harm.h"

namespace program {

constexpr std::size_t kStep = 64 << 10;  // that one fault brings in

inline std::size_t bytes() { return options().number("bytes", 64 * kMiB); }

// Memory that faults when it is touched, and the same memory for the program itself.
struct Memory {
  int file = -1;
  unsigned char* faulting = nullptr;
  unsigned char* own = nullptr;
};
inline Memory memory;
inline std::atomic<int> faults{0};

[[noreturn]] inline void give_up() {
  constexpr char kText[] = "a fault at an unexpected place\n";
  if (::write(2, kText, sizeof kText - 1) < 0) _exit(7);
  _exit(6);
}

inline std::size_t offset_of(const siginfo_t* about) {
  const auto* at = static_cast<unsigned char*>(about->si_addr);
  if (at < memory.faulting || at >= memory.faulting + bytes()) give_up();
  ++faults;
  return static_cast<std::size_t>(at - memory.faulting) / kStep * kStep;
}

inline void on_segv(int, siginfo_t* about, void*) {
  if (mprotect(memory.faulting + offset_of(about), kStep, PROT_READ | PROT_WRITE) != 0) give_up();
}

inline void on_bus(int, siginfo_t* about, void*) {
  if (fallocate(memory.file, 0, static_cast<off_t>(offset_of(about)), kStep) != 0) give_up();
}

inline void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  EXPECT(sigaction(signal, &action, nullptr) == 0);
}

inline unsigned char* map(int protection) {
  void* at = mmap(nullptr, bytes(), protection, MAP_SHARED, memory.file, 0);
  EXPECT(at != MAP_FAILED);
  return static_cast<unsigned char*>(at);
}

inline void make_file(std::size_t size) {
  memory.file = memfd_create("faulting", 0);
  EXPECT(memory.file >= 0 && ftruncate(memory.file, static_cast<off_t>(size)) == 0);
}

// Both ends are there from the beginning, for drivers that look at them.
inline void make_closed_memory() {
  make_file(bytes());
  memory.faulting = map(PROT_NONE);
  memory.own = map(PROT_READ | PROT_WRITE);
  for (const std::size_t at : {std::size_t{0}, bytes() - kStep})
    EXPECT(mprotect(memory.faulting + at, kStep, PROT_READ | PROT_WRITE) == 0);
}

// A file that is too short for its mapping; the end is other memory.
inline void make_short_file() {
  make_file(kStep);
  memory.own = memory.faulting = map(PROT_READ | PROT_WRITE);
  EXPECT(mmap(memory.faulting + bytes() - kStep, kStep, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

}  // namespace program
