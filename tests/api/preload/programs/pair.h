#pragma once
// Two processes of one program that talk through pipes: the second one is started by the first,
// before CUDA has been touched, as PROGRAM importer SCENARIO [NAME=VALUE ...].
//
// IMPORTER_PRELOAD and IMPORTER_VISIBLE are what the second one gets as LD_PRELOAD and
// CUDA_VISIBLE_DEVICES, where they are set.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

namespace program {

// The pipes' ends of this side.
inline int from_other = -1, to_other = -1;
inline pid_t other_process = 0;

template <class T>
void tell(const T& value) {
  EXPECT(::write(to_other, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}

template <class T>
T hear() {
  T value{};
  auto* at = reinterpret_cast<char*>(&value);
  for (std::size_t got = 0; got < sizeof value;) {
    const ssize_t more = ::read(from_other, at + got, sizeof value - got);
    EXPECT(more > 0);
    got += static_cast<std::size_t>(more);
  }
  return value;
}

constexpr int kFromFirst = 100, kToFirst = 101;
constexpr const char* kOther = "importer";

inline bool is_other(int argc, char** argv) { return argc > 2 && argv[1] == std::string(kOther); }

/// What the second process does first.
inline void become_other() {
  from_other = kFromFirst;
  to_other = kToFirst;
}

inline void set_from(const char* name, const char* value_of) {
  if (const char* value = std::getenv(value_of)) setenv(name, value, 1);
}

[[noreturn]] inline void be_replaced(const char* file, std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(file, pointers.data());
  std::_Exit(5);
}

/// Starts the second process.
inline void start_other(const char* file, const std::string& scenario,
                        const std::vector<std::string>& more = {}) {
  int to[2], from[2];
  EXPECT(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
  other_process = fork();
  if (other_process == 0) {
    dup2(to[0], kFromFirst);
    dup2(from[1], kToFirst);
    set_from("LD_PRELOAD", "IMPORTER_PRELOAD");
    set_from("CUDA_VISIBLE_DEVICES", "IMPORTER_VISIBLE");
    std::vector<std::string> words = {file, kOther, scenario};
    words.insert(words.end(), more.begin(), more.end());
    be_replaced(file, std::move(words));
  }
  close(to[0]);
  close(from[1]);
  from_other = from[0];
  to_other = to[1];
}

inline bool other_ends_well() {
  int status = 0;
  waitpid(other_process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace program
