// What is special about ranks that meet by TCP: others may come, and come too late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/frames.h"
#include "communicator/bootstrap/sockets.h"
#include "communicator/together.h"
#include "support/errors.h"

namespace polypath::test::bootstrap_address_test {
namespace {

using test::expect_no_errors;
using test::in_threads;
using test::kLong;
using test::kShort;
using testing::AllOf;
using testing::HasSubstr;

const std::string kHost = "127.0.0.1";

SocketAddress free_address() { return {kHost, own_address(listen_at({kHost, "0"})).port}; }

// A connection of a stranger, which says this.
Descriptor stranger(const SocketAddress& address, const std::string& says) {
  const Deadline deadline(kLong);
  Descriptor socket = connect_to(address, deadline);
  EXPECT_TRUE(send_all(socket, says, deadline));
  return socket;
}

std::string hello(std::int32_t rank, std::int32_t size) {
  const std::int32_t numbers[] = {rank, size};
  return to_text({FrameKind::hello, 0, {reinterpret_cast<const char*>(numbers), sizeof numbers}});
}

TEST(AddressBootstrap, WaitsForRankZero) {
  const std::string address = free_address().text();

  expect_no_errors(in_threads(2, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    bootstrap_by_address(address, rank, 2, kLong)->all_gather("", kLong);
  }));
}

TEST(AddressBootstrap, NamesRankZeroWhereItNeverListens) {
  const std::string address = free_address().text();

  test::expect_error(
      ErrorCode::communicator, [&] { bootstrap_by_address(address, 1, 2, kShort); },
      "Rank 1 cannot reach rank 0 at " + address);
}

TEST(AddressBootstrap, NamesToAllWhoNeverCame) {
  const std::string address = free_address().text();

  const auto errors = in_threads(4, [&](int rank) {
    if (rank != 2)
      bootstrap_by_address(address, rank, 4, kLong)
          ->all_gather("", rank == 0 ? Seconds{0.5} : kLong);
  });

  for (const int rank : {0, 1, 3})
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr("rank 2 did not come in time"));
}

// Rank 0 waits for longer, and has said so far for whom.
TEST(AddressBootstrap, KnowsWhoIsMissingBeforeRankZeroGivesUp) {
  const std::string address = free_address().text();

  const auto errors = in_threads(3, [&](int rank) {
    if (rank != 2)
      bootstrap_by_address(address, rank, 3, kLong)->all_gather("", Seconds{rank == 0 ? 3.0 : 1.0});
  });

  EXPECT_THAT(errors[1], HasSubstr("rank 2 did not come in time"));
}

TEST(AddressBootstrap, NamesARankThatGoesAway) {
  const std::string address = free_address().text();

  const auto errors = in_threads(3, [&](int rank) {
    const auto mine = bootstrap_by_address(address, rank, 3, kLong);
    mine->all_gather("", kLong);
    if (rank != 1) mine->all_gather("", kLong);
  });

  EXPECT_THAT(errors[0], HasSubstr("Rank 1 has gone"));
  EXPECT_THAT(errors[2], HasSubstr("Rank 1 has gone"));
}

TEST(AddressBootstrap, IsNotDisturbedByStrangers) {
  const SocketAddress address = free_address();
  const auto hub = bootstrap_by_address(address.text(), 0, 2, kLong);
  const std::string foreign_size = to_text({FrameKind::hello, 0, std::string(9, 'x')});

  const Descriptor silent = stranger(address, "");
  const Descriptor half = stranger(address, hello(1, 2).substr(0, 20));
  const Descriptor web = stranger(address, "GET / HTTP/1.1\r\n\r\n");
  const Descriptor wrong = stranger(address, foreign_size);
  const Descriptor early = stranger(address, to_text({FrameKind::round, 1, "12345678"}));

  expect_no_errors(in_threads(2, [&](int rank) {
    if (rank == 0) hub->all_gather("", kLong);
    else bootstrap_by_address(address.text(), 1, 2, kLong)->all_gather("", kLong);
  }));
}

TEST(AddressBootstrap, CountsTheStrangersWhereSomebodyIsMissing) {
  const SocketAddress address = free_address();
  const auto hub = bootstrap_by_address(address.text(), 0, 2, kLong);
  const Descriptor web = stranger(address, "GET / HTTP/1.1\r\n\r\n");

  test::expect_error(
      ErrorCode::communicator, [&] { hub->all_gather("", kShort); }, "rank 1 did not come",
      "1 came that are no ranks");
}

TEST(AddressBootstrap, SaysThatSomethingElseListens) {
  const Descriptor listener = listen_at({kHost, "0"});
  const SocketAddress address = own_address(listener);
  const auto spoke = bootstrap_by_address(address.text(), 1, 2, kLong);
  Descriptor other;
  ASSERT_TRUE(test::soon([&] { return (other = accept_from(listener)).is_open(); }));
  send_all(other, "220 mail.example.org ESMTP\r\n", Deadline(kLong));

  test::expect_error(
      ErrorCode::communicator, [&] { spoke->all_gather("", kLong); }, address.text(),
      "is no rank of Polypath");
}

TEST(AddressBootstrap, RefusesRanksThatCountOthers) {
  const std::string address = free_address().text();

  const auto errors = in_threads(2, [&](int rank) {
    bootstrap_by_address(address, rank, rank == 0 ? 2 : 3, kLong)->all_gather("", kLong);
  });

  for (const std::string& error : errors)
    EXPECT_THAT(error, HasSubstr("rank 1 counts 3, rank 0 counts 2"));
}

// Of another job, say: the others go on to wait for those that are missing.
TEST(AddressBootstrap, RefusesARankThatIsThereAlready) {
  const std::string address = free_address().text();
  std::atomic<bool> is_refused = false;

  const auto errors = in_threads(4, [&](int which) {
    const std::array<int, 4> ranks{0, 1, 1, 2};
    const int rank = ranks[static_cast<std::size_t>(which)];
    if (rank == 2) EXPECT_TRUE(test::soon([&] { return is_refused.load(); }));
    try {
      bootstrap_by_address(address, rank, 3, kLong)->all_gather("", kLong);
    } catch (const Error&) {
      is_refused = true;
      throw;
    }
  });

  EXPECT_EQ(errors[0] + errors[3], "");
  EXPECT_TRUE(errors[1].empty() || errors[2].empty());
  EXPECT_THAT(errors[1] + errors[2], HasSubstr("Rank 1 is there twice"));
}

TEST(AddressBootstrap, NamesWhoWasRefusedWhereSomebodyIsMissing) {
  const std::string address = free_address().text();
  const auto hub = bootstrap_by_address(address, 0, 3, kLong);
  const auto first = bootstrap_by_address(address, 1, 3, kLong);
  const auto second = bootstrap_by_address(address, 1, 3, kLong);

  test::expect_error(
      ErrorCode::communicator, [&] { hub->all_gather("", kShort); }, "ranks 1 and 2 did not come",
      "another rank 1 was refused");
}

// Of another job, say: what runs is not disturbed.
TEST(AddressBootstrap, LetsNobodyInOnceAllAreThere) {
  const std::string address = free_address().text();
  std::atomic<bool> has_tried = false, has_met = false;
  std::string refused;
  std::thread newcomer([&] {
    EXPECT_TRUE(test::soon([&] { return has_met.load(); }));
    try {
      bootstrap_by_address(address, 1, 2, kShort)->all_gather("", kShort);
    } catch (const Error& error) {
      refused = error.what();
    }
    has_tried = true;
  });

  const auto errors = in_threads(2, [&](int rank) {
    const auto ours = bootstrap_by_address(address, rank, 2, kLong);
    (void)ours->all_gather("", kLong);
    has_met = true;
    EXPECT_TRUE(test::soon([&] { return has_tried.load(); }));
    EXPECT_EQ(ours->all_gather(std::to_string(rank), kLong), (std::vector<Blob>{"0", "1"}));
  });
  newcomer.join();

  expect_no_errors(errors);
  EXPECT_THAT(refused, HasSubstr("Rank 1 cannot reach rank 0"));
}

TEST(AddressBootstrap, KeepsFewConnectionsThatSayNothing) {
  constexpr int kMany = 100;
  const SocketAddress address = free_address();
  const auto be_silent = [&] {
    std::vector<Descriptor> silent;
    for (int i = 0; i < kMany; ++i) silent.push_back(stranger(address, ""));
    std::string inbox;
    const auto is_first_gone = [&] {
      return receive_into(silent.front(), inbox) == Received::gone;
    };
    EXPECT_TRUE(test::soon(is_first_gone));
    EXPECT_EQ(receive_into(silent.back(), inbox), Received::nothing_yet);
  };

  expect_no_errors(in_threads(2, [&](int rank) {
    if (rank == 1) be_silent();
    bootstrap_by_address(address.text(), rank, 2, kLong)->all_gather("", kLong);
  }));
}

TEST(AddressBootstrap, RefusesAPortThatTheSystemWouldChoose) {
  for (const int rank : {0, 1})
    test::expect_invalid_argument([&] { bootstrap_by_address(kHost + ":0", rank, 2, kShort); },
                                  kHost + ":0", "port 0");
}

TEST(AddressBootstrap, SaysThatThePortIsTaken) {
  const Descriptor listener = listen_at({kHost, "0"});
  const std::string address = own_address(listener).text();

  test::expect_error(
      ErrorCode::communicator, [&] { bootstrap_by_address(address, 0, 2, kShort); },
      "cannot listen at " + address, "in use");
}

TEST(SocketAddress, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parse_socket_address("host:1").host, "host");
  EXPECT_EQ(parse_socket_address("[::1]:65535").host, "::1");
  EXPECT_EQ(parse_socket_address("[::1]:65535").text(), "[::1]:65535");
  for (const char* text : {"", "host", ":1", "host:", "host:x", "host:65536", "host:-1", "host:1x"})
    test::expect_invalid_argument([&] { parse_socket_address(text); }, "HOST:PORT");
}

TEST(Frames, ComeInPiecesOfAnySize) {
  const std::string text = to_text({FrameKind::round, 7, "bytes"});
  std::string inbox;
  std::optional<Frame> frame;

  for (const char byte : text) {
    ASSERT_FALSE(frame);
    inbox += byte;
    frame = take_frame(inbox, 100, "Rank 1");
  }

  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->round, 7U);
  EXPECT_EQ(frame->bytes, "bytes");
  EXPECT_EQ(inbox, "");
}

TEST(Frames, RefuseDamagedPieces) {
  const std::string packed = pack({"one", "", "three"});
  EXPECT_THAT(unpack(packed), testing::ElementsAre("one", "", "three"));

  for (std::size_t cut = 1; cut < packed.size(); ++cut) {
    const bool between_pieces = cut == 11 || cut == 19;  // 8 + 3, then 8 bytes
    if (between_pieces) continue;
    test::expect_error(
        ErrorCode::communicator, [&] { unpack(packed.substr(0, cut)); }, "damaged");
  }
}

}  // namespace
}  // namespace polypath::test::bootstrap_address_test
