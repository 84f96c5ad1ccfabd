#pragma once
// What the programs share that do what Polypath once did harm to: scenarios with options, and what
// is printed.
//
// What a program prints is compared between a run with Polypath and one without. A line that begins
// with '#' is only for readers; "blocked" may become "did not block" but not the other way round;
// "~2: 7" may be as few as 5.

#include <map>
#include <memory>
#include <string>

#include "hold.h"

namespace program {

constexpr int kCannotRunHere = 77;

/// Ends the program because something that it needs is not here.
[[noreturn]] inline void cannot_run(const char* why) {
  std::printf("cannot run here: %s\n", why);
  std::fflush(stdout);
  std::_Exit(kCannotRunHere);
}

struct Scenario {
  int gpus;  ///< that it needs
  void (*run)();
};

using Scenarios = std::map<std::string, Scenario>;

/// The `main` of a program of scenarios: PROGRAM SCENARIO [NAME=VALUE ...], or PROGRAM --list,
/// which prints each with the GPUs that it needs.
inline int run_scenario(const Scenarios& scenarios, int argc, char** argv) {
  keep_memory();
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "--list")
    for (const auto& [name, scenario] : scenarios)
      std::printf("%s %d\n", name.c_str(), scenario.gpus);
  const auto found = scenarios.find(asked);
  if (found == scenarios.end()) return asked == "--list" ? 0 : 2;
  for (int i = 2; i < argc; ++i) options().read(argv[i]);
  CHECK(cuInit(0));
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  if (gpus < found->second.gpus) cannot_run("there are too few GPUs");
  found->second.run();
  std::puts("end");
  return 0;
}

inline std::size_t wrong_bytes(const unsigned char* got, const std::vector<unsigned char>& wanted) {
  if (std::memcmp(got, wanted.data(), wanted.size()) == 0) return 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) wrong += got[i] != wanted[i];
  return wrong;
}

inline std::size_t wrong_bytes(CUdeviceptr memory, const std::vector<unsigned char>& wanted) {
  return wrong_bytes(read(memory, wanted.size()).data(), wanted);
}

inline void say_bytes(const std::string& what, std::size_t wrong) {
  if (wrong == 0) std::printf("%s: right\n", what.c_str());
  else std::printf("%s: %zu bytes wrong\n", what.c_str(), wrong);
}

inline void say_blocked(const std::string& what, bool blocked) {
  std::printf("%s: %s\n", what.c_str(), blocked ? "blocked" : "did not block");
}

}  // namespace program
