// Collectives of the C interface: right for every function, refused where they should be, ended
// together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "polypath.h"

namespace {

using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr size_t kCount = 1003;

// An all-gather among threads.
struct Gathering {
  std::vector<char> bytes;
  std::barrier<> barrier{kRanks};
};
struct Gatherer {
  Gathering* all;
  int rank;
  int status = 0;
};

int gather(const void* mine, void* all, size_t bytes, void* user) {
  const Gatherer& own = *static_cast<Gatherer*>(user);
  Gathering& shared = *own.all;
  if (own.status != 0) return own.status;
  if (own.rank == 0) shared.bytes.resize(kRanks * bytes);
  shared.barrier.arrive_and_wait();
  std::memcpy(shared.bytes.data() + static_cast<size_t>(own.rank) * bytes, mine, bytes);
  shared.barrier.arrive_and_wait();
  std::memcpy(all, shared.bytes.data(), kRanks * bytes);
  shared.barrier.arrive_and_wait();
  return 0;
}

// What a rank has in its test.
struct Rank {
  polypath_context* context;
  int rank;
  polypath_communicator* communicator;
  polypath_stream stream;
  float* input;
  float* output;

  [[nodiscard]] float given(size_t i) const {
    return static_cast<float>(size_t{10} * static_cast<size_t>(rank) + i % 7);
  }
};

class CCollectives : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(polypath_context_create("h200x4", &context_), POLYPATH_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(polypath_context_destroy(context_), POLYPATH_SUCCESS); }

  [[nodiscard]] Rank join(int rank, Gatherer& gatherer) const {
    Rank made{.context = context_,
              .rank = rank,
              .communicator = nullptr,
              .stream = 0,
              .input = nullptr,
              .output = nullptr};
    const std::string gpu = "gpu" + std::to_string(rank);
    EXPECT_EQ(polypath_communicator_create(context_, gpu.c_str(), rank, kRanks, gather, &gatherer,
                                           &made.communicator),
              POLYPATH_SUCCESS)
        << polypath_last_error();
    void *input = nullptr, *output = nullptr;
    EXPECT_EQ(polypath_allocate(context_, gpu.c_str(), kRanks * kCount * 4, &input), 0);
    EXPECT_EQ(polypath_allocate(context_, gpu.c_str(), kRanks * kCount * 4, &output), 0);
    EXPECT_EQ(polypath_stream_create(context_, gpu.c_str(), &made.stream), 0);
    made.input = static_cast<float*>(input), made.output = static_cast<float*>(output);
    for (size_t i = 0; i < kRanks * kCount; ++i) made.input[i] = made.given(i), made.output[i] = -1;
    return made;
  }

  /// `work(rank)` at all ranks; the status of each one's end.
  template <class Work>
  std::vector<polypath_status> on_ranks(Work work) {
    Gathering gathering;
    std::barrier joined(kRanks);
    std::vector<polypath_status> ends(kRanks);
    std::vector<std::thread> threads;
    for (int number = 0; number < kRanks; ++number)
      threads.emplace_back([&, number] {
        Gatherer gatherer{&gathering, number};
        Rank rank = join(number, gatherer);
        joined.arrive_and_wait();
        work(rank);
        ends[static_cast<size_t>(number)] = polypath_communicator_destroy(rank.communicator);
      });
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  /// One call of each rank is right: `expected(rank, i)` of `count` elements.
  template <class Call, class Expected>
  void expect_right(Call call, Expected expected, size_t count = kCount) {
    const auto ends = on_ranks([&](Rank& rank) {
      EXPECT_EQ(call(rank), POLYPATH_SUCCESS) << polypath_last_error();
      EXPECT_EQ(polypath_communicator_synchronize(rank.communicator), POLYPATH_SUCCESS);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(rank.output[i], expected(rank, i)) << "rank " << rank.rank << ", " << i;
    });

    EXPECT_THAT(ends, testing::Each(POLYPATH_SUCCESS));
  }

  polypath_context* context_ = nullptr;
};

float sum_at(size_t i) { return static_cast<float>(60 + 4 * (i % 7)); }
float of_rank(size_t rank, size_t i) { return static_cast<float>(rank * 10 + i % 7); }

TEST_F(CCollectives, Allreduce) {
  expect_right(
      [](const Rank& own) {
        return polypath_allreduce(own.communicator, own.input, own.output, kCount, POLYPATH_FLOAT32,
                                  POLYPATH_SUM, own.stream);
      },
      [](const Rank&, size_t i) { return sum_at(i); });
}

TEST_F(CCollectives, ReduceToARoot) {
  expect_right(
      [](const Rank& own) {
        return polypath_reduce(own.communicator, own.input, own.rank == 2 ? own.output : nullptr,
                               kCount, POLYPATH_FLOAT32, POLYPATH_MAXIMUM, 2, own.stream);
      },
      [](const Rank& own, size_t i) { return own.rank == 2 ? of_rank(3, i) : -1.0F; });
}

TEST_F(CCollectives, ReduceScatter) {
  expect_right(
      [](const Rank& own) {
        return polypath_reduce_scatter(own.communicator, own.input, own.output, kCount,
                                       POLYPATH_FLOAT32, POLYPATH_SUM, own.stream);
      },
      [](const Rank& own, size_t i) { return sum_at(static_cast<size_t>(own.rank) * kCount + i); });
}

TEST_F(CCollectives, Allgather) {
  expect_right(
      [](const Rank& own) {
        return polypath_allgather(own.communicator, own.input, own.output, kCount, POLYPATH_FLOAT32,
                                  own.stream);
      },
      [](const Rank&, size_t i) { return of_rank(i / kCount, i % kCount); }, kRanks * kCount);
}

TEST_F(CCollectives, Alltoall) {
  expect_right(
      [](const Rank& own) {
        return polypath_alltoall(own.communicator, own.input, own.output, kCount, POLYPATH_FLOAT32,
                                 own.stream);
      },
      [](const Rank& own, size_t i) {
        return of_rank(i / kCount, static_cast<size_t>(own.rank) * kCount + i % kCount);
      },
      kRanks * kCount);
}

// Rank i sends i + j elements to rank j.
TEST_F(CCollectives, Alltoallv) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < kRanks; ++i)
    for (size_t j = 0; j < kRanks; ++j) counts.push_back(i + j);
  const auto start = [&](size_t from, size_t to) {
    size_t before = 0;
    for (size_t j = 0; j < to; ++j) before += from + j;
    return before;
  };

  expect_right(
      [&](const Rank& own) {
        return polypath_alltoallv(own.communicator, own.input, own.output, counts.data(),
                                  POLYPATH_FLOAT32, own.stream);
      },
      [&](const Rank& own, size_t i) {
        const auto to = static_cast<size_t>(own.rank);
        size_t from = 0;
        while (i >= from + to) i -= from + to, ++from;
        return of_rank(from, start(from, to) + i);
      },
      6);
}

TEST_F(CCollectives, Broadcast) {
  expect_right(
      [](const Rank& own) {
        return polypath_broadcast(own.communicator, own.rank == 1 ? own.input : nullptr, own.output,
                                  kCount, POLYPATH_FLOAT32, 1, own.stream);
      },
      [](const Rank&, size_t i) { return of_rank(1, i); });
}

TEST_F(CCollectives, AreMadeAgainAndAgain) {
  expect_right(
      [](const Rank& own) {
        const polypath_call_description said{.collective = POLYPATH_ALLREDUCE,
                                             .input = own.input,
                                             .output = own.output,
                                             .count = kCount,
                                             .type = POLYPATH_FLOAT32,
                                             .operation = POLYPATH_AVERAGE,
                                             .root = 0,
                                             .counts = nullptr};
        polypath_call* call = nullptr;
        EXPECT_EQ(polypath_call_create(own.communicator, &said, &call), POLYPATH_SUCCESS);
        for (int time = 0; time < 3; ++time)
          EXPECT_EQ(polypath_call_start(call, own.stream), POLYPATH_SUCCESS);
        return polypath_call_destroy(call);
      },
      [](const Rank&, size_t i) { return sum_at(i) / 4; });
}

TEST_F(CCollectives, OrderStreams) {
  expect_right(
      [](const Rank& own) {
        EXPECT_EQ(polypath_barrier(own.communicator, own.stream), POLYPATH_SUCCESS);
        return polypath_allreduce(own.communicator, own.input, own.output, kCount, POLYPATH_FLOAT32,
                                  POLYPATH_SUM, own.stream);
      },
      [](const Rank&, size_t i) { return sum_at(i); });
}

TEST_F(CCollectives, WhatIsWrongChangesNothing) {
  expect_right(
      [](const Rank& own) {
        const auto of = [&](const void* input, polypath_type type, polypath_operator operation) {
          return polypath_allreduce(own.communicator, input, own.output, kCount, type, operation,
                                    own.stream);
        };
        EXPECT_EQ(of(nullptr, POLYPATH_FLOAT32, POLYPATH_SUM), POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("allreduce without memory"));
        const float on_the_stack = 0;
        EXPECT_EQ(of(&on_the_stack, POLYPATH_FLOAT32, POLYPATH_SUM), POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("is unknown"));
        void* pinned = nullptr;
        EXPECT_EQ(polypath_allocate(own.context, "host0", kCount * 4, &pinned), POLYPATH_SUCCESS);
        EXPECT_EQ(of(pinned, POLYPATH_FLOAT32, POLYPATH_SUM), POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("it is memory of host0"));
        EXPECT_EQ(of(own.input, 12, POLYPATH_SUM), POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("type 12 is unknown"));
        EXPECT_EQ(of(own.input, POLYPATH_FLOAT32, -1), POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("operator -1 is unknown"));
        EXPECT_EQ(polypath_alltoallv(own.communicator, own.input, own.output, nullptr,
                                     POLYPATH_FLOAT32, own.stream),
                  POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("counts is null"));
        float* const later = own.output + 1;
        EXPECT_EQ(polypath_allreduce(own.communicator, own.output, later, 100, POLYPATH_FLOAT32,
                                     POLYPATH_SUM, own.stream),
                  POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("input and output of allreduce overlap"));
        EXPECT_EQ(polypath_allreduce(own.communicator, own.input, own.output, 1 << 28,
                                     POLYPATH_FLOAT32, POLYPATH_SUM, own.stream),
                  POLYPATH_INVALID_ARGUMENT);
        EXPECT_THAT(polypath_last_error(), HasSubstr("the input is too short ("));
        return of(own.input, POLYPATH_FLOAT32, POLYPATH_SUM);
      },
      [](const Rank&, size_t i) { return sum_at(i); });
}

TEST_F(CCollectives, AnAbortIsSeenByAll) {
  std::barrier aborted(kRanks);

  const auto ends = on_ranks([&](const Rank& own) {
    if (own.rank == 3)
      EXPECT_EQ(polypath_communicator_abort(own.communicator, "a test"), POLYPATH_SUCCESS);
    aborted.arrive_and_wait();
    EXPECT_EQ(polypath_communicator_check(own.communicator), POLYPATH_COMMUNICATOR_ERROR);
    EXPECT_THAT(polypath_last_error(), HasSubstr("Rank 3 has given up (a test)"));
  });

  EXPECT_THAT(ends, testing::Each(POLYPATH_COMMUNICATOR_ERROR));
}

// Only rank 0 waits, and another thread ends that.
TEST_F(CCollectives, AnAbortEndsACallThatWaits) {
  polypath_status waited = POLYPATH_SUCCESS;
  std::string said;
  std::barrier ended(kRanks);

  (void)on_ranks([&](const Rank& own) {
    if (own.rank == 0) {
      std::thread other([&] {
        EXPECT_EQ(polypath_communicator_abort(own.communicator, "a test"), POLYPATH_SUCCESS);
      });
      waited = polypath_communicator_synchronize(own.communicator);
      said = polypath_last_error();
      other.join();
    }
    ended.arrive_and_wait();
  });

  EXPECT_EQ(waited, POLYPATH_COMMUNICATOR_ERROR);
  EXPECT_THAT(said, HasSubstr("Rank 0 has given up (a test)"));
}

TEST_F(CCollectives, DifferentCallsAreFound) {
  std::vector<polypath_status> called(kRanks);

  (void)on_ranks([&](const Rank& own) {
    const size_t count = own.rank == 1 ? kCount - 1 : kCount;
    called[static_cast<size_t>(own.rank)] = polypath_allreduce(
        own.communicator, own.input, own.output, count, POLYPATH_FLOAT32, POLYPATH_SUM, own.stream);
  });

  EXPECT_THAT(called, testing::Each(POLYPATH_INVALID_ARGUMENT));
}

TEST_F(CCollectives, AFailingAllGatherIsAnError) {
  Gatherer gatherer{nullptr, 0, 7};
  polypath_communicator* communicator = nullptr;

  const polypath_status status =
      polypath_communicator_create(context_, nullptr, 0, kRanks, gather, &gatherer, &communicator);

  EXPECT_EQ(status, POLYPATH_COMMUNICATOR_ERROR);
  EXPECT_THAT(polypath_last_error(), HasSubstr("the all-gather function returned 7"));
  EXPECT_EQ(communicator, nullptr);
}

TEST_F(CCollectives, RanksMeetInAFolder) {
  const std::string folder = testing::TempDir() + "polypath-c-ranks-" + std::to_string(getpid());
  std::vector<std::thread> threads;

  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      polypath_communicator* communicator = nullptr;
      EXPECT_EQ(
          polypath_communicator_join(context_, nullptr, rank, 2, folder.c_str(), &communicator),
          POLYPATH_SUCCESS)
          << polypath_last_error();
      EXPECT_EQ(polypath_communicator_destroy(communicator), POLYPATH_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();

  std::filesystem::remove_all(folder);
}

TEST_F(CCollectives, NullsAndRanksThatThereAreNot) {
  polypath_communicator* communicator = nullptr;

  EXPECT_EQ(polypath_communicator_create(context_, nullptr, 0, 1, nullptr, nullptr, &communicator),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_communicator_join(context_, nullptr, 2, 2, "./folder", &communicator),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), HasSubstr("no rank 2 of 2"));
  EXPECT_EQ(polypath_communicator_join(context_, nullptr, 0, 1, nullptr, &communicator),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_communicator_join(context_, nullptr, 0, 1, "nowhere", &communicator),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_communicator_check(nullptr), POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_communicator_destroy(nullptr), POLYPATH_SUCCESS);
  EXPECT_EQ(polypath_call_destroy(nullptr), POLYPATH_SUCCESS);
}

}  // namespace
