// Programs that end, fork or turn into another program while large copies, the first ones above
// all, are on their way.
//
// Options: bytes, delay (milliseconds).

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copies_of_all_kinds.h"
#include "pair.h"

using namespace program;

namespace {

char* file = nullptr;
std::vector<std::string> words;

std::size_t bytes() { return options().number("bytes", 64 * kMiB); }

void wait_a_while() {
  std::this_thread::sleep_for(std::chrono::milliseconds(options().number("delay", 0)));
}

std::string end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? "status " + std::to_string(WEXITSTATUS(status))
                           : "signal " + std::to_string(WTERMSIG(status));
}

// Another scenario of this program, in a process of its own.
pid_t start(const std::string& scenario, std::vector<std::string> more) {
  more.insert(more.begin(), {file, scenario});
  more.insert(more.end(), words.begin(), words.end());
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), 1);
    be_replaced(file, std::move(more));
  }
  return child;
}

// One large copy of each kind, nothing waited for.
void first_copies() {
  const CUstream stream = stream_on(0);
  const CUdeviceptr memory = memory_on(0, bytes());
  static std::vector<unsigned char> pageable(bytes(), 1);
  auto* host = static_cast<unsigned char*>(pinned(bytes()));
  CHECK(cuMemcpyHtoDAsync_v2(memory, host, bytes(), stream));
  CHECK(cuMemcpyHtoDAsync_v2(memory, pageable.data(), bytes(), stream));
  CHECK(cuMemcpyDtoHAsync_v2(host, memory, bytes(), stream));
}

void copy_and_exit() {
  first_copies();
  wait_a_while();
  std::exit(0);
}

// While another thread is in the middle of a copy.
void exit_beside_copies() {
  std::thread([] {
    CopiesOfAllKinds copies(0, bytes());
    for (std::uint64_t i = 0;; ++i) (void)copies.round(i);
  }).detach();
  wait_a_while();
  _exit(0);
}

void often(const char* scenario) {
  for (const char* delay : {"0", "1", "5", "20", "50", "200"}) {
    const std::string ends = end_of(start(scenario, {std::string("delay=") + delay}));
    std::printf("%s after %s ms: %s\n", scenario, delay, ends.c_str());
  }
}

void exits_soon() {
  often("copy_and_exit");
  often("exit_beside_copies");
}

// Children that do nothing, and children that become programs of their own.
void forks_while_copying() {
  std::size_t wrong = 0;
  std::atomic<bool> done{false};
  std::thread copying([&] {
    CopiesOfAllKinds copies(0, bytes());
    for (std::uint64_t i = 0; i < 4 || !done.load(); ++i) wrong += copies.round(i);
  });
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    std::printf("a child that ends: %s\n", end_of(child).c_str());
  }
  std::printf("a child that copies: %s\n", end_of(start("just_copy", {})).c_str());
  done.store(true);
  copying.join();
  say_bytes("copies meanwhile", wrong);
}

void just_copy() {
  CopiesOfAllKinds copies(0, bytes());
  say_bytes("copies", copies.rounds(3));
}

void become_another() {
  first_copies();
  wait_a_while();
  std::fflush(stdout);
  std::vector<std::string> more = words;
  more.insert(more.begin(), {file, "just_copy"});
  be_replaced(file, more);
}

// Threads that begin, copy and end.
void threads_come_and_go() {
  std::atomic<std::size_t> wrong{0};
  CopiesOfAllKinds copies(0, bytes());
  for (std::uint64_t i = 0; i < 12; ++i) std::thread([&] { wrong += copies.round(i); }).join();
  say_bytes("copies of threads that end", wrong);
}

const Scenarios kScenarios = {
    {"exits_soon", {1, exits_soon}},
    {"copy_and_exit", {1, copy_and_exit}},
    {"exit_beside_copies", {1, exit_beside_copies}},
    {"forks_while_copying", {1, forks_while_copying}},
    {"just_copy", {1, just_copy}},
    {"become_another", {1, become_another}},
    {"threads_come_and_go", {1, threads_come_and_go}},
};

}  // namespace

int main(int argc, char** argv) {
  file = argv[0];
  words.assign(argv + std::min(argc, 2), argv + argc);
  return run_scenario(kScenarios, argc, argv);
}
