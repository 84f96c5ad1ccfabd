// A process per GPU, each with a context on its own GPU only, all at once or one after another:
// where GPUs are in exclusive mode, nobody may take one that is another's, or that will be.
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

void hear_from(const Rank& rank) {
  char byte = 0;
  if (::read(rank.from, &byte, 1) != 1) std::puts("a rank is gone");
}
void let_go_on(const Rank& rank) {
  if (::write(rank.to, "g", 1) != 1) std::puts("a rank is gone");
}

// One byte of all, then one for all.
void meet(const std::vector<Rank>& ranks) {
  for (const Rank& rank : ranks) hear_from(rank);
  for (const Rank& rank : ranks) let_go_on(rank);
}

void say_ends(const std::vector<Rank>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    int status = 0;
    waitpid(ranks[i].process, &status, 0);
    std::printf("rank %zu: %s %d\n", i, WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
}

int rank_count() {
  signal(SIGPIPE, SIG_IGN);
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  return static_cast<int>(options().number("ranks", static_cast<std::size_t>(gpus)));
}

void all_at_once() {
  std::vector<Rank> ranks;
  for (int i = rank_count(); i > 0; --i) ranks.push_back(start(static_cast<int>(ranks.size())));
  meet(ranks);
  meet(ranks);
  say_ends(ranks);
}

// Each begins when the one before has copied, and all stay to the end.
void one_after_another() {
  std::vector<Rank> ranks;
  for (int i = rank_count(); i > 0; --i) {
    ranks.push_back(start(static_cast<int>(ranks.size())));
    hear_from(ranks.back());
    let_go_on(ranks.back());
    hear_from(ranks.back());
  }
  for (const Rank& rank : ranks) let_go_on(rank);
  say_ends(ranks);
}

const Scenarios kScenarios = {
    {"all_at_once", {2, all_at_once}},
    {"one_after_another", {2, one_after_another}},
};

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
