#include "communicator/node/control_block.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "communicator/node/call_log.h"
#include "communicator/together.h"
#include "core/text.h"
#include "support/errors.h"
#include "support/processes.h"
#include "support/random.h"

namespace polypath::test::control_block_test {
namespace {

using test::all_reduce;
using testing::HasSubstr;

constexpr std::size_t kBytes = 4096;

TEST(NamedMemory, IsSharedAndKnowsWhoHoldsIt) {
  const NamedMemory first = NamedMemory::create(kBytes);
  EXPECT_FALSE(first.is_held(1));

  const NamedMemory second = NamedMemory::open(first.name(), kBytes, 1);
  static_cast<char*>(first.data())[7] = 'x';

  EXPECT_EQ(static_cast<char*>(second.data())[7], 'x');
  EXPECT_TRUE(first.is_held(1));
  EXPECT_TRUE(second.is_held(0));
}

TEST(NamedMemory, IsNotHeldByWhatHasGone) {
  const NamedMemory first = NamedMemory::create(kBytes);

  { const NamedMemory second = NamedMemory::open(first.name(), kBytes, 1); }

  EXPECT_FALSE(first.is_held(1));
}

class HoldingProcess : public testing::TestWithParam<test::Numbers> {};

INSTANTIATE_TEST_SUITE_P(Namespaces, HoldingProcess,
                         testing::Values(test::Numbers::common, test::Numbers::own));

// The child of the holder lives on: it has neither the memory nor the lock.
TEST_P(HoldingProcess, HoldsUntilItIsKilledWhateverItsChildrenDo) {
  const NamedMemory memory = NamedMemory::create(kBytes);
  test::Child holder(
      [&] {
        static const NamedMemory mine = NamedMemory::open(memory.name(), kBytes, 1);
        if (fork() == 0) {
          alarm(30);
          close(STDOUT_FILENO), close(STDERR_FILENO);  // nothing is to wait for what it says
          for (;;) pause();
        }
      },
      GetParam());
  if (!holder.worked() && GetParam() == test::Numbers::own)
    GTEST_SKIP() << "the system permits no namespaces";
  ASSERT_TRUE(holder.worked());
  EXPECT_TRUE(memory.is_held(1));

  holder.end();

  EXPECT_TRUE(test::soon([&] { return !memory.is_held(1); }));
}

TEST(NamedMemory, IsHeldAsFarAsIsKnownOnceTheProgramHasClosedItsFiles) {
  EXPECT_EQ(test::exit_status_of([] {
              const NamedMemory memory = NamedMemory::create(kBytes);
              for (int file = 3; file < 100; ++file) close(file);
              if (!memory.is_held(0) || !memory.is_held(1)) return 1;
              for (int file = 3; file < 100; ++file) open("/dev/null", O_RDWR);
              return memory.is_held(1) ? 0 : 2;
            }),
            0);
}

TEST(NamedMemory, OfAForkedChildDoesNoHarm) {
  const NamedMemory memory = NamedMemory::create(kBytes);

  EXPECT_EQ(test::exit_status_of([&] {
              { const NamedMemory copy = std::move(const_cast<NamedMemory&>(memory)); }
              return 0;
            }),
            0);

  EXPECT_NO_THROW(NamedMemory::open(memory.name(), kBytes, 1));
  EXPECT_TRUE(memory.is_held(0));
}

TEST(NamedMemory, CannotBeOpenedOnceItsNameIsRemoved) {
  const NamedMemory memory = NamedMemory::create(kBytes);
  NamedMemory::remove_name(memory.name());

  test::expect_error(
      ErrorCode::communicator, [&] { NamedMemory::open(memory.name(), kBytes, 1); }, "/dev/shm");
}

TEST(NamedMemory, IsRefusedWithAnotherSize) {
  const NamedMemory memory = NamedMemory::create(kBytes);

  test::expect_error(
      ErrorCode::communicator, [&] { NamedMemory::open(memory.name(), 2 * kBytes, 1); },
      "cannot be used");
}

// A maker that was killed two minutes ago, and one that lives.
TEST(NamedMemory, OfADeadMakerIsRemovedByTheNextOne) {
  const std::string left = "/polypath-block-0123456789abcdef0123456789abcdef";
  const Descriptor file(shm_open(left.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const NamedMemory alive = NamedMemory::create(kBytes);
  const Descriptor of_alive(shm_open(alive.name().c_str(), O_RDWR | O_CLOEXEC, 0));
  const timespec then[2] = {{time(nullptr) - 120, 0}, {time(nullptr) - 120, 0}};
  ASSERT_EQ(futimens(file.get(), then), 0);
  ASSERT_EQ(futimens(of_alive.get(), then), 0);

  const NamedMemory next = NamedMemory::create(kBytes);

  EXPECT_FALSE(Descriptor(shm_open(left.c_str(), O_RDWR, 0)).is_open());
  EXPECT_TRUE(Descriptor(shm_open(alive.name().c_str(), O_RDWR, 0)).is_open());
}

class ControlBlocks : public testing::Test {
 protected:
  void publish(CallNumber call) {
    block.publish(1, call, Stamp::of(call, call << 32), words_of(all_reduce(call)));
  }

  ControlBlock block{NamedMemory::alone(ControlBlock::bytes_for(3)), 3};
};

TEST_F(ControlBlocks, KeepTheLatestCalls) {
  constexpr CallNumber kLatest = ControlBlock::kCalls + 10;
  for (CallNumber call = 1; call <= kLatest; ++call) publish(call);

  EXPECT_EQ(block.entered(1), kLatest);
  EXPECT_EQ(block.entered(0), 0U);
  EXPECT_EQ(block.call_of(1, kLatest)->count, kLatest);
  EXPECT_EQ(block.call_of(1, 11)->count, 11U);
  EXPECT_FALSE(block.call_of(1, 10)) << "it is overwritten";
  EXPECT_FALSE(block.call_of(1, kLatest + 1)) << "it has not come";
  EXPECT_FALSE(block.stamp_of(1, 10).is_same_call(Stamp::of(10, 0)));
  EXPECT_TRUE(block.stamp_of(1, 11).is_same_call(Stamp::of(11, 0)));
}

// One writes and wraps the ring, the other reads: never a record of which a part is another's. The
// writer goes on until enough was read: on a busy computer it can be done before the reader starts.
TEST_F(ControlBlocks, NeverShowARecordThatIsHalfAnother) {
  constexpr CallNumber kFewest = 200 * ControlBlock::kCalls;
  constexpr int kEnough = 1000;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::atomic<CallNumber> latest{0};
  std::atomic<bool> done{false};
  std::atomic<int> seen{0};

  test::expect_no_errors(test::in_threads(2, [&](int rank) {
    if (rank == 0) {
      while (latest < kFewest || (seen < kEnough && std::chrono::steady_clock::now() < give_up)) {
        const CallNumber call = latest + 1;
        block.publish(1, call, Stamp::of(call, 0),
                      words_of({.operation = "x", .count = call, .digest = call}));
        latest = call;
      }
      done = true;
      return;
    }
    while (!done)
      for (const CallNumber back : {CallNumber{0}, ControlBlock::kCalls - 1}) {
        const CallNumber entered = block.entered(1);
        if (entered <= back) continue;
        const auto record = block.call_of(1, entered - back);
        if (!record) continue;
        ++seen;
        EXPECT_EQ(record->count, entered - back);
        EXPECT_EQ(record->digest, entered - back);
      }
  }));

  EXPECT_TRUE(block.call_of(1, latest));
  EXPECT_GE(seen, kEnough);
}

TEST_F(ControlBlocks, AreAbortedByTheFirst) {
  EXPECT_FALSE(block.is_aborted());
  EXPECT_FALSE(block.aborted());

  EXPECT_TRUE(block.abort(2, ErrorCode::invalid_argument, "because"));
  EXPECT_FALSE(block.abort(1, ErrorCode::communicator, "also"));

  ASSERT_TRUE(block.is_aborted());
  EXPECT_EQ(block.aborted()->rank, 2);
  EXPECT_EQ(block.aborted()->why, "because");
  EXPECT_EQ(block.aborted()->code, ErrorCode::invalid_argument);
}

TEST_F(ControlBlocks, CutReasonsThatAreTooLong) {
  publish(1);

  block.abort(0, ErrorCode::communicator, std::string(10000, 'x'));

  EXPECT_THAT(block.aborted()->why, testing::StartsWith("xxx"));
  EXPECT_LT(block.aborted()->why.size(), 2048U);
  EXPECT_EQ(block.entered(0), 0U);
  EXPECT_EQ(block.entered(1), 1U);
  EXPECT_EQ(block.call_of(1, 1)->count, 1U);
}

// After a write into it by mistake what is read is wrong, and stays within its bounds.
TEST(ControlBlock, OfRandomBytesCanBeRead) {
  constexpr int kRanks = 3, kTries = 200;
  const std::size_t bytes = ControlBlock::bytes_for(kRanks);
  test::Random random(1);
  for (int i = 0; i < kTries; ++i) {
    NamedMemory memory = NamedMemory::alone(bytes);
    auto* const words = static_cast<std::uint64_t*>(memory.data());
    ControlBlock block(std::move(memory), kRanks);
    CallLog log(block, {0, 1, 2}, 1);
    AgreementRing offers = block.offers(1);
    HandleBoard notices = block.notices(1);
    for (std::uint64_t count = 1; count < 10; ++count) log.enter(all_reduce(count));
    for (std::size_t at = 0; at < bytes / sizeof *words; ++at)
      words[at] = i % 2 == 0 ? random.next() : random.between(0, 15);

    (void)log.compare(), (void)log.compare_with_slower(), (void)log.enter(all_reduce(1));
    (void)log.compare(), (void)log.compare_with_slower();
    (void)offers.vote(AgreementRing::Words{}, Seconds{});
    for (const HandleBoard::Update& news : notices.poll()) {
      EXPECT_LE(news.bytes.size(), HandleBoard::kMostBytes);
      notices.acknowledge(news, true);
    }
    if (const auto abort = block.aborted()) {
      EXPECT_LE(abort->why.size(), 3 * 2048U);  // what is no text becomes three bytes each
      EXPECT_EQ(abort->why, valid_text(abort->why));
      EXPECT_NE(std::string(name_of(abort->code)), "unknown error");
    }
  }
}

}  // namespace
}  // namespace polypath::test::control_block_test
