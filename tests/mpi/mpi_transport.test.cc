// Messages by MPI: moved in the program's own calls, or by any thread.

#include "mpi/mpi_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "communicator/together.h"
#include "core/error.h"
#include "mpi/support/thread_mpi.h"
#include "mpi/threaded_transport.h"
#include "support/layers.h"

namespace polypath::test::mpi_transport_test {
namespace {

using mpi::MpiLife;
using mpi::MpiTransport;
using mpi::ThreadedTransport;
using test::expect_no_errors;
using test::in_threads;
using test::kLong;
using test::kShort;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

std::string failure_of(Transport& transport) {
  std::optional<Error> found;
  while (!(found = transport.failure())) std::this_thread::yield();
  return found->what();
}

template <class Made>
class ByMpi : public testing::Test {
 protected:
  /// `work(transport)` at each rank, in threads; what each failed with.
  template <class Work>
  std::vector<std::string> at_ranks(int ranks, Work work) {
    return in_threads(ranks, [&](int rank) {
      ThreadMpi::be(rank);
      const std::unique_ptr<Made> transport = make(rank, ranks);
      work(*transport);
    });
  }

  std::unique_ptr<Made> make(int rank, int ranks) {
    if constexpr (std::is_same_v<Made, MpiTransport>)
      return std::make_unique<Made>(mpi_.library(), 0, rank, ranks);
    else return std::make_unique<Made>(mpi_.library(), 0, rank, ranks, life_);
  }

  ThreadMpi mpi_;
  std::shared_ptr<MpiLife> life_ = std::make_shared<MpiLife>();
};

using Both = testing::Types<MpiTransport, ThreadedTransport>;
TYPED_TEST_SUITE(ByMpi, Both);

// A page goes with the size; more is a message of its own.
TYPED_TEST(ByMpi, CarriesMessagesOfAnySizeInOrder) {
  ThreadMpi::hold_large_sends();

  expect_no_errors(this->at_ranks(3, [](Transport& transport) {
    const int to = (transport.rank() + 1) % 3, from = (transport.rank() + 2) % 3;
    std::vector<Bytes> sent, received;
    std::vector<MessageNumber> messages;
    for (const std::size_t size : {1, 0, 4080, 4081, 70'000}) {
      sent.emplace_back(size, std::byte(size % 251 + 1));
      received.emplace_back(size);
    }
    for (std::uint32_t i = 0; i < sent.size(); ++i) {
      messages.push_back(transport.send(to, i, sent[i]));
      messages.push_back(transport.receive(from, i, received[i]));
    }

    for (const MessageNumber each : messages) transport.wait(each, kLong);

    EXPECT_EQ(received, sent);
    transport.finish();
  }));
}

TYPED_TEST(ByMpi, NamesTheRankThatSendsSomethingElse) {
  const auto errors = this->at_ranks(2, [](Transport& transport) {
    Bytes bytes(transport.rank() == 0 ? 16 : 32);
    if (transport.rank() == 1) return transport.wait(transport.receive(0, 7, bytes), kLong);
    transport.wait(transport.send(1, 7, bytes), kLong);
    transport.finish();
  });

  EXPECT_THAT(errors[1], HasSubstr("rank 1 has a message with rank 0 that cannot end (it sent 16 "
                                   "bytes with tag 7 where 32 with tag 7 were expected)"));
}

TYPED_TEST(ByMpi, NamesTheNodeOfTheRankWhenItTimesOut) {
  Bytes bytes(8);

  const auto errors = this->at_ranks(2, [&](Transport& transport) {
    transport.name_nodes(Nodes({"near", "far"}));
    if (transport.rank() == 0) return transport.wait(transport.receive(1, 4, bytes), kShort);
    transport.finish();
  });

  EXPECT_THAT(errors[0], HasSubstr("rank 0 timed out waiting for rank 1 on far to send 8 "
                                   "bytes with tag 4"));
}

TYPED_TEST(ByMpi, NamesTheRankThatMpiSendsNothingTo) {
  ThreadMpi::refuse(1);
  Bytes bytes(8);

  const auto errors = this->at_ranks(2, [&](Transport& transport) {
    if (transport.rank() == 0) return transport.wait(transport.send(1, 4, bytes), kLong);
    transport.finish();
  });

  EXPECT_THAT(errors[0], HasSubstr("rank 0 has a message with rank 1 that cannot end (MPI has "
                                   "reported error 17)"));
}

TYPED_TEST(ByMpi, NamesTheRankThatMpiReceivesNothingFrom) {
  ThreadMpi::refuse(1);
  Bytes bytes(8);

  const auto errors = this->at_ranks(2, [&](Transport& transport) {
    if (transport.rank() == 0) return transport.wait(transport.receive(1, 4, bytes), kLong);
    transport.finish();
  });

  EXPECT_THAT(errors[0], HasSubstr("rank 0 has a message with rank 1 that cannot end (MPI has "
                                   "reported error 17)"));
}

TYPED_TEST(ByMpi, RefusesMessagesAfterAnAbort) {
  expect_no_errors(this->at_ranks(2, [](Transport& transport) {
    Bytes bytes(8);
    const MessageNumber asked = transport.receive(1 - transport.rank(), 0, bytes);

    transport.abort("this is enough", ErrorCode::driver);

    EXPECT_THROW((void)transport.test(asked), Error);
    EXPECT_THROW((void)transport.send(1 - transport.rank(), 0, bytes), Error);
  }));
}

// --- what differs ---

class Threaded : public ByMpi<ThreadedTransport> {};

TEST_F(Threaded, TellsAllOthersWhyARankGivesUp) {
  expect_no_errors(at_ranks(3, [](Transport& transport) {
    if (transport.rank() == 1) return transport.abort("no more gradients", ErrorCode::driver);

    EXPECT_EQ(failure_of(transport), "no more gradients");
    EXPECT_EQ(transport.failure()->code(), ErrorCode::driver);
  }));
}

TEST_F(Threaded, TellsAllOthersThatARankEndsInTheMiddle) {
  expect_no_errors(at_ranks(2, [](Transport& transport) {
    if (transport.rank() == 0) EXPECT_EQ(failure_of(transport), "its collectives have ended");
  }));
}

TEST_F(Threaded, FreesItsCommunicatorWhereAllHasEndedWell) {
  expect_no_errors(at_ranks(2, [](Transport& transport) {
    if (transport.rank() == 0) transport.finish();
  }));

  EXPECT_EQ(ThreadMpi::freed(), 1);
}

TEST_F(Threaded, HasMemoryOfALargeMessageUntilItHasCome) {
  ThreadMpi::hold_large_sends();
  std::atomic<bool> is_asked{false};

  expect_no_errors(at_ranks(2, [&](Transport& transport) {
    Bytes bytes(70'000);
    if (transport.rank() == 1) {
      while (!is_asked) std::this_thread::yield();
      return transport.wait(transport.receive(0, 0, bytes), kLong);
    }
    (void)transport.test(transport.send(1, 0, bytes));

    transport.abort("this is enough", ErrorCode::communicator);

    EXPECT_TRUE(transport.is_busy());
    is_asked = true;
    while (transport.is_busy()) std::this_thread::yield();
  }));
}

TEST_F(Threaded, CallsNoMpiThatIsAboutToEnd) {
  Bytes bytes(8);
  const auto errors = at_ranks(2, [&](Transport& transport) {
    const MessageNumber asked = transport.receive(1 - transport.rank(), 0, bytes);
    life_->end();
    transport.wait(asked, kLong);
  });

  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("MPI has been finalized"));
}

}  // namespace
}  // namespace polypath::test::mpi_transport_test
