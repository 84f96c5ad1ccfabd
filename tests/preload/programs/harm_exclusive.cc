// A process per GPU, all at the same time, each with a context on its own GPU only: where GPUs are
// in exclusive mode, nobody may take one that is another's.
//
// Options: bytes, ranks.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copies_of_all_kinds.h"
#include "pair.h"

using namespace program;

namespace {

char* file = nullptr;
std::vector<std::string> words;

// Says that its context is there, waits until all others' are, and copies.
int be_rank(int rank) {
  CHECK(cuInit(0));
  const CUresult made = cuDevicePrimaryCtxRetain(new CUcontext, rank);
  if (made != 0) return 20;
  use(rank);
  become_other();
  CopiesOfAllKinds copies(rank, options().number("bytes", 64 * kMiB));
  tell('r');
  const char go = hear<char>();
  EXPECT(go == 'g');
  const std::size_t wrong = copies.rounds(4);
  tell('d');
  (void)hear<char>();
  return wrong == 0 ? 0 : 21;
}

struct Rank {
  pid_t process;
  int to, from;
};

Rank start(int rank) {
  start_other(file, std::to_string(rank), words);
  return {other_process, to_other, from_other};
}

// One byte of all, then one for all.
void meet(const std::vector<Rank>& ranks) {
  char byte = 0;
  for (const Rank& rank : ranks)
    if (::read(rank.from, &byte, 1) != 1) std::puts("a rank is gone");
  for (const Rank& rank : ranks)
    if (::write(rank.to, "g", 1) != 1) std::puts("a rank is gone");
}

void a_process_per_gpu() {
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  const int count = static_cast<int>(options().number("ranks", static_cast<std::size_t>(gpus)));
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(start(i));
  signal(SIGPIPE, SIG_IGN);
  meet(ranks);
  meet(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    int status = 0;
    waitpid(ranks[i].process, &status, 0);
    std::printf("rank %zu: %s %d\n", i, WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
}

const Scenarios kScenarios = {{"a_process_per_gpu", {2, a_process_per_gpu}}};

}  // namespace

int main(int argc, char** argv) {
  file = argv[0];
  words.assign(argv + std::min(argc, 2), argv + argc);
  if (!is_other(argc, argv)) return run_scenario(kScenarios, argc, argv);
  keep_memory();
  options().read("alone=1");
  for (int i = 3; i < argc; ++i) options().read(argv[i]);
  return be_rank(std::atoi(argv[2]));
}
