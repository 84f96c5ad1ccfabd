// Messages between ranks over TCP: in order, of any size, both ways at once, and what is said when
// a rank is gone, does something else, or does not come.

#include "communicator/transport/transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "communicator/together.h"
#include "support/layers.h"

namespace polypath::test::transport_test {
namespace {

using test::expect_no_errors;
using test::Folder;
using test::in_threads;
using test::kLong;
using test::kShort;
using test::soon;
using testing::HasSubstr;

constexpr const char* kHere = "127.0.0.1";

using Message = std::vector<std::byte>;

// Other bytes for each seed.
Message contents(std::size_t size, unsigned seed) {
  Message bytes(size);
  unsigned state = seed * 2654435761U + 1;
  for (std::byte& each : bytes) each = static_cast<std::byte>((state = state * 1664525U + 1) >> 24);
  return bytes;
}

// `work(transport)` at each rank, in threads; what each failed with.
template <class Work>
std::vector<std::string> with_transports(int ranks, Work work) {
  auto bootstraps = bootstrap_among_threads(ranks);
  return in_threads(ranks, [&](int rank) {
    const auto transport =
        transport_by_tcp(*bootstraps[static_cast<std::size_t>(rank)], kHere, kLong);
    work(*transport);
  });
}

void send_and_wait(Transport& transport, int to, std::uint32_t tag, const Message& bytes) {
  transport.wait(transport.send(to, tag, bytes), kLong);
}

Message receive_and_wait(Transport& transport, int from, std::uint32_t tag, std::size_t size) {
  Message bytes(size);
  transport.wait(transport.receive(from, tag, bytes), kLong);
  return bytes;
}

// What is sent to a rank that has given up resets the connection; its reason came before that.
TEST(TcpTransport, TellsWhySomebodyHasGivenUpToWhoOnlySends) {
  const Message bytes = contents(64, 1);
  std::string said;
  std::atomic<bool> is_over{false};

  const auto errors = with_transports(2, [&](Transport& transport) {
    if (transport.rank() == 1) {
      transport.abort("no more gradients");
      while (!is_over) std::this_thread::yield();
      return;
    }
    while (said.empty()) try {
        transport.wait(transport.send(1, 0, bytes), kLong);
      } catch (const Error& error) {
        said = error.what();
      }
    is_over = true;
  });

  expect_no_errors(errors);
  EXPECT_THAT(said, HasSubstr("it has given up: no more gradients"));
}

TEST(TcpTransport, CarriesMessagesOfAnySizeInOrder) {
  const std::vector<std::size_t> sizes = {1, 0, 4096, 7, 3'000'001, 0, 65'536};

  expect_no_errors(with_transports(2, [&](Transport& transport) {
    for (unsigned i = 0; i < sizes.size(); ++i) {
      const Message message = contents(sizes[i], i);
      if (transport.rank() == 0) send_and_wait(transport, 1, i, message);
      else EXPECT_EQ(receive_and_wait(transport, 0, i, sizes[i]), message) << i;
    }
  }));
}

// More at once than the connections hold.
TEST(TcpTransport, CarriesBothWaysAtOnceBetweenAllRanks) {
  constexpr std::size_t kSize = 5'000'000;

  expect_no_errors(with_transports(4, [&](Transport& transport) {
    const auto seed = [](int from, int to) { return static_cast<unsigned>(10 * from + to); };
    std::vector<Message> sent(4), received(4, Message(kSize));
    std::vector<MessageNumber> messages;
    for (int other = 0; other < 4; ++other) {
      if (other == transport.rank()) continue;
      const auto at = static_cast<std::size_t>(other);
      sent[at] = contents(kSize, seed(transport.rank(), other));
      messages.push_back(transport.send(other, 5, sent[at]));
      messages.push_back(transport.receive(other, 5, received[at]));
    }

    for (const MessageNumber message : messages) transport.wait(message, kLong);

    for (int other = 0; other < 4; ++other)
      if (other != transport.rank()) {
        EXPECT_EQ(received[static_cast<std::size_t>(other)],
                  contents(kSize, seed(other, transport.rank())));
      }
  }));
}

TEST(TcpTransport, IsNotOverBeforeTheOtherHasSent) {
  std::atomic<bool> asked = false;

  expect_no_errors(with_transports(2, [&](Transport& transport) {
    Message bytes(8);
    if (transport.rank() == 0) {
      while (!asked) std::this_thread::yield();
      return send_and_wait(transport, 1, 0, contents(8, 3));
    }
    const MessageNumber message = transport.receive(0, 0, bytes);
    EXPECT_FALSE(transport.test(message));
    asked = true;
    transport.wait(message, kLong);
    EXPECT_TRUE(transport.test(message));
    EXPECT_EQ(bytes, contents(8, 3));
  }));
}

// What was sent before the end arrives.
TEST(TcpTransport, NamesARankThatIsGone) {
  const auto errors = with_transports(2, [&](Transport& transport) {
    if (transport.rank() == 1) return send_and_wait(transport, 0, 0, contents(64, 1));
    EXPECT_EQ(receive_and_wait(transport, 1, 0, 64), contents(64, 1));
    (void)receive_and_wait(transport, 1, 1, 64);
  });

  EXPECT_THAT(errors[0], testing::AllOf(HasSubstr("rank 1"), HasSubstr("closed")));
  EXPECT_EQ(errors[1], "");
}

TEST(TcpTransport, NamesARankThatSendsSomethingElse) {
  const auto errors = with_transports(2, [&](Transport& transport) {
    if (transport.rank() == 1) return send_and_wait(transport, 0, 7, contents(64, 1));
    (void)receive_and_wait(transport, 1, 7, 32);
  });

  EXPECT_THAT(errors[0], testing::AllOf(HasSubstr("rank 1"), HasSubstr("64 bytes with tag 7"),
                                        HasSubstr("32 with tag 7")));
}

// What is sent, and what is expected instead.
struct Unlike {
  const char* name;
  std::uint32_t sent_tag, tag;
  std::size_t sent, expected;
};

class UnlikeMessages : public testing::TestWithParam<Unlike> {};

INSTANTIATE_TEST_SUITE_P(
    TcpTransport, UnlikeMessages,
    testing::Values(Unlike{"longer", 7, 7, 64, 32}, Unlike{"longer_by_a_byte", 7, 7, 33, 32},
                    Unlike{"shorter", 7, 7, 32, 64}, Unlike{"shorter_by_a_byte", 7, 7, 31, 32},
                    Unlike{"empty", 7, 7, 0, 32}, Unlike{"where_none_is_expected", 7, 7, 32, 0},
                    Unlike{"of_a_later_tag", 8, 7, 32, 32},
                    Unlike{"of_an_earlier_tag", 6, 7, 32, 32}),
    [](const auto& info) { return std::string(info.param.name); });

// The next message, as long as what is missing, does not make up for it.
TEST_P(UnlikeMessages, AreAnErrorThatNamesTheRankAndBoth) {
  const auto& [name, sent_tag, tag, sent, expected] = GetParam();
  const auto errors = with_transports(2, [&, sent_tag = sent_tag, tag = tag, sent = sent,
                                          expected = expected](Transport& transport) {
    if (transport.rank() == 0) return (void)receive_and_wait(transport, 1, tag, expected);
    const Message first = contents(sent, 1), second = contents(64, 2);
    const MessageNumber both[] = {transport.send(0, sent_tag, first),
                                  transport.send(0, sent_tag, second)};
    for (const MessageNumber each : both) transport.wait(each, kLong);
  });

  EXPECT_THAT(errors[0],
              testing::AllOf(HasSubstr("rank 1"),
                             HasSubstr(fmt::format("{} bytes with tag {}", sent, sent_tag)),
                             HasSubstr(fmt::format("where {} with tag {}", expected, tag))));
}

TEST(TcpTransport, NamesARankThatDoesNotSendInTime) {
  std::atomic<bool> over = false;
  const auto errors = with_transports(2, [&](Transport& transport) {
    Message bytes(16);
    if (transport.rank() == 1) {
      while (!over) std::this_thread::yield();
      return;
    }
    try {
      transport.wait(transport.receive(1, 4, bytes), kShort);
    } catch (...) {
      over = true;
      throw;
    }
  });

  EXPECT_THAT(errors[0], testing::AllOf(HasSubstr("rank 1"), HasSubstr("16 bytes with tag 4")));
}

TEST(TcpTransport, EndsAtAllRanksWhenOneAborts) {
  const auto errors = with_transports(2, [&](Transport& transport) {
    Message bytes(16);
    const MessageNumber message = transport.receive(1 - transport.rank(), 0, bytes);
    if (transport.rank() == 1) transport.abort("of a test");
    transport.wait(message, kLong);
  });

  EXPECT_THAT(errors[0], testing::AllOf(HasSubstr("rank 1"), HasSubstr("of a test")));
  EXPECT_THAT(errors[1], HasSubstr("of a test"));
}

// Also ranks that wait for no message of it.
TEST(TcpTransport, TellsAllRanksAtOnceWhyOneAborts) {
  std::vector<std::string> said(3);

  expect_no_errors(with_transports(3, [&](Transport& transport) {
    if (transport.rank() == 1) return transport.abort("of a test", ErrorCode::out_of_memory);
    std::optional<Error> failure;
    EXPECT_TRUE(soon([&] { return (failure = transport.failure()).has_value(); }));
    EXPECT_EQ(failure->code(), ErrorCode::out_of_memory);
    said[static_cast<std::size_t>(transport.rank())] = failure->what();
  }));

  EXPECT_THAT(said, testing::ElementsAre("of a test", "", "of a test"));
}

// It has not said that it ends well, so it may be missed.
TEST(TcpTransport, NamesARankThatEndsWithoutAWord) {
  expect_no_errors(with_transports(2, [&](Transport& transport) {
    if (transport.rank() == 1) return;
    std::optional<Error> failure;
    EXPECT_TRUE(soon([&] { return (failure = transport.failure()).has_value(); }));
    EXPECT_THAT(failure->what(), HasSubstr("Rank 1 has ended"));
  }));
}

TEST(TcpTransport, TakesNoEndThatWasAnnouncedForAFailure) {
  std::atomic<bool> has_ended = false;

  const auto errors = with_transports(2, [&](Transport& transport) {
    if (transport.rank() == 1) {
      transport.finish();
      has_ended = true;
      return;
    }
    EXPECT_TRUE(soon([&] { return has_ended.load(); }));
    Message bytes(16);
    EXPECT_FALSE(transport.failure().has_value());
    transport.wait(transport.receive(1, 0, bytes), kLong);  // its connection is closed by then
    ADD_FAILURE() << "what has ended has sent something";
  });

  EXPECT_THAT(errors[0], HasSubstr("the connection to it is closed"));
}

TEST(TcpTransport, RefusesRanksThatThereAreNot) {
  const auto errors = with_transports(2, [&](Transport& transport) {
    const Message bytes(1);
    (void)transport.send(transport.rank() == 0 ? 0 : 2, 0, bytes);
  });

  EXPECT_THAT(errors[0], HasSubstr("that is itself"));
  EXPECT_THAT(errors[1], HasSubstr("ranks 0 to 1"));
}

TEST(TcpTransport, NamesAProcessThatIsKilled) {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    alarm(50);
    try {
      const auto bootstrap = bootstrap_by_file(folder.path(), 1, 2, kLong);
      const auto transport = transport_by_tcp(*bootstrap, kHere, kLong);
      kill(getpid(), SIGKILL);
    } catch (...) {
    }
    _exit(1);
  }
  const auto bootstrap = bootstrap_by_file(folder.path(), 0, 2, kLong);
  const auto transport = transport_by_tcp(*bootstrap, kHere, kLong);
  Message bytes(1 << 20);

  try {
    transport->wait(transport->receive(1, 0, bytes), kLong);
    ADD_FAILURE() << "received from nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::communicator);
    EXPECT_THAT(error.what(), HasSubstr("rank 1"));
  }

  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace polypath::test::transport_test
