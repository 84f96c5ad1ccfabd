// The host's side of kernels that exchange messages (kernels/mail.h), without a driver: every
// message and flag within its box, and right in all orders in which ranks can send and receive.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/mail.h"
#include "support/interleavings.h"
#include "support/sanitizers.h"

namespace polypath::test::mail_orders_test {
namespace {

using Contents = std::vector<std::byte>;

constexpr std::byte kUntouched{0xa5};
constexpr std::size_t kMargin = 256;

const char* name_of(MailWay way) { return way == MailWay::lines ? "lines" : "parcels"; }

/// What a rank sends another one in a call; no two messages are alike.
Contents message_of(std::size_t from, std::size_t to, std::size_t call, std::size_t bytes) {
  Contents message(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    message[i] = static_cast<std::byte>(i * 7 + from * 50 + to * 13 + call * 101 + 1);
  return message;
}

/// Ranks that send each other one message each in a call, and store what arrives side by side. What
/// lies behind a mailbox is not theirs.
class MailRanks {
 public:
  MailRanks(std::size_t ranks, std::size_t bytes, MailWay way)
      : ranks_(ranks),
        bytes_(bytes),
        mail_{.way = way, .message = {bytes}, .stride = {bytes}, .end = {bytes * ranks}},
        kernel_(mail_kernel(MailUse::store, way)),
        inputs_(ranks, Contents(bytes * ranks)),
        outputs_(ranks, Contents(bytes * ranks)),
        calls_(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      mailboxes_.emplace_back(mailbox() + kMargin);
      std::fill(mailboxes_.back().end() - kMargin, mailboxes_.back().end(), kUntouched);
    }
  }

  void send(std::size_t rank) {
    for (std::size_t to = 0; to < ranks_; ++to) {
      const Contents message = message_of(rank, to, calls_[rank], bytes_);
      std::copy(message.begin(), message.end(), inputs_[rank].data() + to * bytes_);
    }
    use(rank, kernel_.on_host);
  }
  void receive(std::size_t rank) {
    use(rank, kernel_.after_exchange);
    ++calls_[rank];
  }
  /// What is wrong with what has arrived in a rank's last call.
  [[nodiscard]] std::string wrong(std::size_t rank) const {
    for (std::size_t from = 0; from < ranks_; ++from) {
      const Contents expected = message_of(from, rank, calls_[rank] - 1, bytes_);
      if (!std::equal(expected.begin(), expected.end(), outputs_[rank].data() + from * bytes_))
        return fmt::format("call {}: rank {} has another message of rank {}", calls_[rank], rank,
                           from);
    }
    return {};
  }
  [[nodiscard]] bool margins_are_intact() const {
    return std::all_of(mailboxes_.begin(), mailboxes_.end(), [](const Contents& each) {
      return std::all_of(each.end() - kMargin, each.end(),
                         [](std::byte byte) { return byte == kUntouched; });
    });
  }
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const Contents& each : mailboxes_)
      for (const std::byte byte : each) hash = (hash ^ static_cast<unsigned>(byte)) * 0x100000001b3;
    return hash;
  }

 private:
  // With a parcel's room more than the message: it goes in one lap then.
  [[nodiscard]] Bytes box() const { return box_for(mail_.message + 1_KiB, mail_.way); }
  [[nodiscard]] std::size_t mailbox() const { return mailbox_bytes(ranks_, box().value); }
  void use(std::size_t rank, const HostKernel& function) {
    std::vector<std::byte*> memory = {inputs_[rank].data(), outputs_[rank].data()};
    for (Contents& each : mailboxes_) memory.push_back(each.data());
    function(memory, mail_values({.mail = mail_,
                                  .rank = static_cast<int>(rank),
                                  .ranks = static_cast<int>(ranks_),
                                  .box = box()}));
  }

  std::size_t ranks_, bytes_;
  Mail mail_;
  Kernel kernel_;
  std::vector<Contents> inputs_, outputs_, mailboxes_;
  std::vector<std::size_t> calls_;  ///< of each rank, that are over
};

class Boxes : public testing::TestWithParam<MailWay> {};

INSTANTIATE_TEST_SUITE_P(Mail, Boxes, testing::Values(MailWay::lines, MailWay::parcels),
                         [](const auto& info) { return name_of(info.param); });

// Around the ends of lines and of parcels, which are 256 bytes or more.
TEST_P(Boxes, HoldMessagesOfAnySizeWithTheirFlags) {
  for (const std::size_t bytes : {0, 4, 116, 120, 124, 240, 252, 256, 260, 32'764, 32'768, 100'004})
    for (const std::size_t ranks : {2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << bytes << " bytes");
      MailRanks all(ranks, bytes, GetParam());
      for (int call = 0; call < 3; ++call) {
        for (std::size_t rank = 0; rank < ranks; ++rank) all.send(rank);

        for (std::size_t rank = 0; rank < ranks; ++rank) {
          ASSERT_NO_THROW(all.receive(rank));
          EXPECT_EQ(all.wrong(rank), "");
        }
      }
      EXPECT_TRUE(all.margins_are_intact());
    }
}

struct Mailing {
  Mailing(std::size_t ranks, std::size_t bytes, MailWay way)
      : all(ranks, bytes, way), sent(ranks) {}

  MailRanks all;
  std::vector<int> sent;  ///< calls of each rank
  std::string wrong = {};
};

/// To send is a step and to receive is one, which comes once all have sent.
Interleavings mail(std::size_t ranks, int calls, std::size_t bytes, MailWay way) {
  return go_through_all_orders([=] {
    auto mailing = std::make_shared<Mailing>(ranks, bytes, way);
    Interleaved run{.ends = {},
                    .wrong = [=] { return mailing->wrong; },
                    .shared = [=] { return mailing->all.fingerprint(); }};
    for (std::size_t rank = 0; rank < ranks; ++rank)
      run.ends.emplace_back([=] {
        for (int call = 1; call <= calls; ++call) {
          step();
          mailing->all.send(rank);
          mailing->sent[rank] = call;
          await([&] {
            return std::all_of(mailing->sent.begin(), mailing->sent.end(),
                               [&](int sent) { return sent >= call; });
          });
          mailing->all.receive(rank);
          if (mailing->wrong.empty()) mailing->wrong = mailing->all.wrong(rank);
        }
      });
    return run;
  });
}

// A rank may be done with a call, and send in the next one, before another has received in this
// one: it writes to the other half.
TEST_P(Boxes, HoldMessagesOfAllOrders) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";
  EXPECT_EQ(mail(2, 4, 300, GetParam()).wrong, "");
  EXPECT_EQ(mail(3, 3, 8, GetParam()).wrong, "");
}

}  // namespace
}  // namespace polypath::test::mail_orders_test
