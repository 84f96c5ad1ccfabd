#include "mpi/roll_call.h"

#include <sched.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "communicator/bootstrap/deadline.h"

namespace polypath::mpi {
namespace {

constexpr int kComeTag = 32747, kHeardTag = 32748;  // every MPI has them

/// A word from one rank to another one.
struct Word {
  std::uint64_t said = 0;
  Handle request = 0;
  bool is_over = false;
};

bool is_over(const Library& library, Word& word) {
  if (word.is_over) return true;
  int flag = 0;
  const Result result = library.real.Test(&word.request, &flag, library.status_ignore);
  return word.is_over = result == kSuccess && flag != 0;
}

void receive(const Library& library, Word& word, int from, int tag) {
  library.real.Irecv(&word.said, sizeof word.said, library.byte, from, tag, library.world,
                     &word.request);
}

void send(const Library& library, Word& word, int to, int tag) {
  library.real.Isend(&word.said, sizeof word.said, library.byte, to, tag, library.world,
                     &word.request);
}

bool await_all(const Library& library, std::vector<Word>& words, Seconds timeout) {
  const Deadline deadline(timeout);
  for (Word& word : words)
    while (!is_over(library, word)) {
      if (deadline.has_passed()) return false;
      sched_yield();
    }
  return true;
}

// MPI may use the memory of words that have not come as long as the process runs.
void drop(std::unique_ptr<std::vector<Word>> words, bool are_over) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<std::vector<Word>>>;
  if (are_over) return;
  const std::scoped_lock lock(mutex);
  kept.push_back(std::move(words));
}

bool hear_all(const Library& library, int ranks, std::uint64_t said, Seconds timeout) {
  auto come = std::make_unique<std::vector<Word>>(static_cast<std::size_t>(ranks - 1));
  auto answers = std::make_unique<std::vector<Word>>();
  for (int rank = 1; rank < ranks; ++rank)
    receive(library, (*come)[static_cast<std::size_t>(rank - 1)], rank, kComeTag);
  const bool have_come = await_all(library, *come, timeout);
  bool is_complete = have_come;
  for (const Word& word : *come) is_complete = is_complete && word.said == said;
  answers->reserve(come->size());
  for (int rank = 1; rank < ranks; ++rank)
    if (is_over(library, (*come)[static_cast<std::size_t>(rank - 1)]))
      send(library, answers->emplace_back(Word{.said = is_complete ? 1U : 0U}), rank, kHeardTag);
  const bool are_sent = await_all(library, *answers, timeout);
  drop(std::move(come), have_come);
  drop(std::move(answers), are_sent);
  return is_complete;
}

bool come_and_hear(const Library& library, std::uint64_t said, Seconds timeout) {
  auto words = std::make_unique<std::vector<Word>>(2);
  Word& heard = words->front();
  receive(library, heard, 0, kHeardTag);
  words->back().said = said;
  send(library, words->back(), 0, kComeTag);
  const bool are_over = await_all(library, *words, timeout);
  const bool is_complete = are_over && heard.said == 1;
  drop(std::move(words), are_over);
  return is_complete;
}

}  // namespace

bool call_roll(const Library& library, std::uint64_t said, RollCallTimes times) {
  int rank = 0, ranks = 0;
  library.real.Comm_rank(library.world, &rank);
  library.real.Comm_size(library.world, &ranks);
  return rank == 0 ? hear_all(library, ranks, said, times.to_come)
                   : come_and_hear(library, said, times.to_hear);
}

}  // namespace polypath::mpi
