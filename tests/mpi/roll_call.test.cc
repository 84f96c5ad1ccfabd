// Ranks that are under Polypath tell each other, with an MPI whose ranks are threads.

#include "mpi/roll_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "support/layers.h"

namespace polypath::test::mpi_roll_call_test {
namespace {

using mpi::Handle;
using mpi::Library;
using mpi::Result;
using testing::ElementsAre;
using Route = std::tuple<int, int, int>;  // from, to, tag

constexpr int kRanks = 3;
thread_local int own_rank = 0;

// Messages that were sent, and receives that wait for one.
struct Mail {
  std::mutex mutex;
  std::map<Route, std::uint64_t> sent;
  std::map<Handle, std::pair<Route, void*>> awaited;
  Handle last = 0;
} mail;

Result comm_rank(Handle, int* rank) {
  *rank = own_rank;
  return mpi::kSuccess;
}
Result comm_size(Handle, int* size) {
  *size = kRanks;
  return mpi::kSuccess;
}
Result send(const void* word, int, Handle, int to, int tag, Handle, void* request) {
  const std::scoped_lock lock(mail.mutex);
  std::memcpy(&mail.sent[{own_rank, to, tag}], word, sizeof(std::uint64_t));
  *static_cast<Handle*>(request) = 0;
  return mpi::kSuccess;
}
Result receive(void* word, int, Handle, int from, int tag, Handle, void* request) {
  const std::scoped_lock lock(mail.mutex);
  *static_cast<Handle*>(request) = ++mail.last;
  mail.awaited[mail.last] = {{from, own_rank, tag}, word};
  return mpi::kSuccess;
}
Result test(void* request, int* flag, void*) {
  const std::scoped_lock lock(mail.mutex);
  const auto awaited = mail.awaited.find(*static_cast<Handle*>(request));
  *flag = 1;
  if (awaited == mail.awaited.end()) return mpi::kSuccess;
  const auto found = mail.sent.find(awaited->second.first);
  *flag = found != mail.sent.end() ? 1 : 0;
  if (*flag != 0) std::memcpy(awaited->second.second, &found->second, sizeof found->second);
  return mpi::kSuccess;
}

// What each rank finds that says so; a rank that says -1 is not under Polypath.
std::vector<int> found_by(const std::vector<int>& said, mpi::RollCallTimes times) {
  mail.sent.clear(), mail.awaited.clear();
  Library library;
  library.real.Comm_rank = comm_rank, library.real.Comm_size = comm_size;
  library.real.Isend = send, library.real.Irecv = receive, library.real.Test = test;
  std::vector<int> found(kRanks, -1);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    if (const int own = said[static_cast<std::size_t>(rank)]; own >= 0)
      threads.emplace_back([&, rank, own] {
        own_rank = rank;
        found[static_cast<std::size_t>(rank)] =
            call_roll(library, static_cast<std::uint64_t>(own), times) ? 1 : 0;
      });
  threads.clear();
  return found;
}

constexpr mpi::RollCallTimes kLong{.to_come = Seconds{60}, .to_hear = Seconds{60}};

TEST(RollCall, AllRanksFindThatAllHaveCome) {
  EXPECT_THAT(found_by({7, 7, 7}, kLong), ElementsAre(1, 1, 1));
}

TEST(RollCall, AllRanksFindThatOneSaysSomethingElse) {
  EXPECT_THAT(found_by({7, 7, 8}, kLong), ElementsAre(0, 0, 0));
}

TEST(RollCall, TheOthersFindThatOneDoesNotCome) {
  const mpi::RollCallTimes times{.to_come = Seconds{0.2}, .to_hear = Seconds{5}};

  EXPECT_THAT(found_by({7, -1, 7}, times), ElementsAre(0, -1, 0));
}

TEST(RollCall, TheOthersFindThatRank0DoesNotAnswer) {
  const mpi::RollCallTimes times{.to_come = Seconds{60}, .to_hear = Seconds{0.2}};

  EXPECT_THAT(found_by({-1, 7, 7}, times), ElementsAre(-1, 0, 0));
}

}  // namespace
}  // namespace polypath::test::mpi_roll_call_test
