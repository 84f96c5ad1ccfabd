// Messages by calls that wait, with a library whose ranks are threads.

#include "communicator/transport/transport_by_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "communicator/together.h"
#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::transport_by_calls_test {
namespace {

using test::expect_no_errors;
using test::in_threads;
using test::kLong;
using test::kShort;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Route = std::tuple<int, int, int>;  // from, to, lane

// As process groups do: a rank that has stopped is gone for all that wait for it.
class Library : public std::enable_shared_from_this<Library> {
 public:
  WaitingCalls calls_of(int rank) {
    return {.send =
                [own = shared_from_this(), rank](int to, WaitingCalls::Lane lane,
                                                 std::span<const std::byte> bytes) {
                  own->send({rank, to, lane}, bytes);
                },
            .receive =
                [own = shared_from_this(), rank](int from, WaitingCalls::Lane lane,
                                                 std::span<std::byte> bytes) {
                  own->receive({from, rank, lane}, bytes);
                },
            .stop = [own = shared_from_this(), rank] { own->stop(rank); }};
  }

  void stop(int rank) {
    const std::scoped_lock lock(mutex_);
    gone_.insert(rank);
    changed_.notify_all();
  }

 private:
  [[nodiscard]] bool is_cut(const Route& route) const {
    return gone_.contains(std::get<0>(route)) || gone_.contains(std::get<1>(route));
  }

  void send(const Route& route, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    if (is_cut(route)) throw Error(ErrorCode::communicator, "the line is cut");
    sent_[route].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }

  void receive(const Route& route, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !sent_[route].empty() || is_cut(route); });
    if (sent_[route].empty()) throw Error(ErrorCode::communicator, "the line is cut");
    const Bytes come = std::move(sent_[route].front());
    sent_[route].pop_front();
    ASSERT_EQ(come.size(), bytes.size());
    std::copy(come.begin(), come.end(), bytes.begin());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Route, std::deque<Bytes>> sent_;
  std::set<int> gone_;
};

class TransportByCalls : public testing::Test {
 protected:
  /// `work(transport)` at each rank, in threads; what each failed with.
  template <class Work>
  std::vector<std::string> at_ranks(int ranks, Work work) {
    return in_threads(ranks, [&](int rank) {
      const auto transport = transport_by_calls(library_->calls_of(rank), rank, ranks);
      work(*transport);
    });
  }

  std::shared_ptr<Library> library_ = std::make_shared<Library>();  ///< threads may outlast a test
};

std::string failure_of(Transport& transport) {
  std::optional<Error> found;
  while (!(found = transport.failure())) std::this_thread::yield();
  return found->what();
}

TEST_F(TransportByCalls, CarriesMessagesOfAnySizeInOrder) {
  expect_no_errors(at_ranks(3, [](Transport& transport) {
    const int to = (transport.rank() + 1) % 3, from = (transport.rank() + 2) % 3;
    std::vector<Bytes> sent, received;
    std::vector<MessageNumber> messages;
    for (const std::size_t size : {1, 0, 4096, 70'000}) {
      sent.emplace_back(size, std::byte(size % 251 + 1));
      received.emplace_back(size);
    }
    for (std::uint32_t i = 0; i < sent.size(); ++i) {
      messages.push_back(transport.receive(from, i, received[i]));
      messages.push_back(transport.send(to, i, sent[i]));
    }

    for (const MessageNumber each : messages) transport.wait(each, kLong);

    EXPECT_EQ(received, sent);
    transport.finish();
  }));
}

TEST_F(TransportByCalls, NamesTheRankThatSendsSomethingElse) {
  const auto errors = at_ranks(2, [](Transport& transport) {
    Bytes bytes(transport.rank() == 0 ? 16 : 32);
    if (transport.rank() == 1) return transport.wait(transport.receive(0, 7, bytes), kLong);
    transport.wait(transport.send(1, 7, bytes), kLong);
    transport.finish();
  });

  EXPECT_THAT(errors[1], HasSubstr("rank 1 has a message with rank 0 that cannot end (it sent 16 "
                                   "bytes with tag 7 where 32 with tag 7 were expected)"));
}

TEST_F(TransportByCalls, TellsAllOthersWhyARankGivesUp) {
  expect_no_errors(at_ranks(3, [](Transport& transport) {
    if (transport.rank() == 1) return transport.abort("no more gradients", ErrorCode::driver);

    EXPECT_EQ(failure_of(transport), "no more gradients");
    EXPECT_EQ(transport.failure()->code(), ErrorCode::driver);
  }));
}

TEST_F(TransportByCalls, NamesARankThatIsGoneWithoutAWord) {
  Bytes bytes(8);

  expect_no_errors(at_ranks(2, [&](Transport& transport) {
    if (transport.rank() == 1) return library_->stop(1);

    EXPECT_THAT(failure_of(transport), HasSubstr("Rank 1 has ended (the line is cut)"));
    EXPECT_THROW(transport.wait(transport.receive(1, 0, bytes), kLong), Error);
  }));
}

TEST_F(TransportByCalls, NamesTheRankWhenItTimesOut) {
  std::atomic<bool> is_over{false};

  const auto errors = at_ranks(2, [&](Transport& transport) {
    Bytes bytes(8);
    if (transport.rank() == 1) {
      while (!is_over) std::this_thread::yield();
      return;
    }
    try {
      transport.wait(transport.receive(1, 4, bytes), kShort);
    } catch (...) {
      is_over = true;
      throw;
    }
  });

  EXPECT_THAT(errors[0], HasSubstr("rank 0 timed out waiting for rank 1 to send 8 bytes"));
}

TEST_F(TransportByCalls, HasNoFailureWhereARankHasEndedWell) {
  std::atomic<int> ended = 0;

  expect_no_errors(at_ranks(3, [&](Transport& transport) {
    transport.finish();
    ++ended;
    while (ended < 3) std::this_thread::yield();
    EXPECT_EQ(transport.failure(), std::nullopt);
  }));
}

TEST_F(TransportByCalls, KeepsNoMemoryOfMessagesOnceItsCallsHaveEnded) {
  expect_no_errors(at_ranks(2, [&](Transport& transport) {
    Bytes bytes(8);
    if (transport.rank() == 0) (void)transport.receive(1, 0, bytes);
    transport.abort("this is enough", ErrorCode::communicator);

    while (transport.is_busy()) std::this_thread::yield();

    EXPECT_THROW((void)transport.receive(1 - transport.rank(), 0, bytes), Error);
  }));
}

}  // namespace
}  // namespace polypath::test::transport_by_calls_test
