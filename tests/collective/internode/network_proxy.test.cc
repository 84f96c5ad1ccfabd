// How long a proxy waits for other nodes (collective/internode/network_proxy.h), where nothing else
// ends its waiting: no communicator looks, and no connection is closed.

#include "collective/internode/network_proxy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <mutex>

#include "communicator/together.h"
#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::network_proxy_test {
namespace {

using testing::HasSubstr;

/// To a rank that makes the same calls, but takes and gives nothing of them.
class SilentRank final : public Transport {
 public:
  explicit SilentRank(bool calls) : Transport(0, 2), calls_(calls) {}

  bool test(MessageNumber message) override {
    if (!calls_ || tags_.at(message) != kComparison) return false;
    const auto to = received_.find(message);
    if (to != received_.end()) std::memcpy(to->second.data(), sent_.data(), sent_.size());
    return true;
  }
  void abort(const std::string& /*why*/, ErrorCode /*code*/) override {}
  void finish() override {}
  std::optional<Error> failure() override { return std::nullopt; }

 private:
  static constexpr std::uint32_t kComparison = 1;  // the first exchange

  MessageNumber start_sending(int /*to*/, std::uint32_t tag,
                              std::span<const std::byte> bytes) override {
    tags_[++started_] = tag;
    if (tag == kComparison) sent_ = bytes;
    return started_;
  }
  MessageNumber start_receiving(int /*from*/, std::uint32_t tag,
                                std::span<std::byte> bytes) override {
    tags_[++started_] = tag;
    received_[started_] = bytes;
    return started_;
  }
  void pause() override {}
  std::string awaited(MessageNumber /*message*/) override { return {}; }

  bool calls_;
  MessageNumber started_ = 0;
  std::map<MessageNumber, std::uint32_t> tags_;
  std::map<MessageNumber, std::span<std::byte>> received_;
  std::span<const std::byte> sent_;
};

/// A proxy that waits for one thing in vain, and for anything else much longer than the test.
class Waiting : public testing::Test {
 protected:
  void make(bool other_calls, Seconds until_called, Seconds until_sent) {
    proxy_ = std::make_unique<NetworkProxy>(
        driver_, gpu_, driver_.machine().nearest_host(gpu_), 1,
        ProxyGroup{.transport = std::make_unique<SilentRank>(other_calls),
                   .until_called = until_called,
                   .until_sent = until_sent,
                   .on_problem = [this](const Error& problem) {
                     const std::scoped_lock lock(mutex_);
                     problem_ = problem.what();
                   }});
    proxy_->begin(all_reduce(64), {1});
  }
  void exchange(const Exchange& exchange) {
    proxy_->start(0, exchange, stream_);
    driver_.synchronize(stream_);
  }
  std::string problem() {
    EXPECT_TRUE(soon([&] {
      const std::scoped_lock lock(mutex_);
      return !problem_.empty();
    }));
    const std::scoped_lock lock(mutex_);
    return problem_;
  }

  static constexpr Seconds kAtOnce{1e-3}, kNever{1e6};

  sim::SimDriver driver_{load_machine("h200x4")};
  PlaceId gpu_ = driver_.machine().places_of(PlaceKind::gpu).front();
  StreamHandle stream_ = driver_.create_stream(gpu_);
  std::vector<std::byte> memory_ = std::vector<std::byte>(32);
  std::mutex mutex_;
  std::string problem_;
  std::unique_ptr<NetworkProxy> proxy_;
};

TEST_F(Waiting, ForARankThatDoesNotCallHasAnEnd) {
  make(false, kAtOnce, kNever);

  EXPECT_THAT(problem(), HasSubstr("timed out waiting for rank 1 to send"));
}

TEST_F(Waiting, ForARankThatCallsButSendsNothingHasAnEnd) {
  make(true, kNever, kAtOnce);

  exchange({.in = {{1, memory_}}});

  EXPECT_THAT(problem(), HasSubstr("timed out waiting for rank 1 to send 32 bytes"));
}

TEST_F(Waiting, ForARankThatCallsButTakesNothingHasAnEnd) {
  make(true, kNever, kAtOnce);

  exchange({.out = {{1, memory_}}});

  EXPECT_THAT(problem(), HasSubstr("timed out waiting for rank 1 to receive 32 bytes"));
}

// What the stream then waits for comes, so that nothing on the GPU is held up.
TEST_F(Waiting, InVainLetsTheStreamGoOn) {
  make(true, kNever, kAtOnce);
  exchange({.in = {{1, memory_}}});
  ASSERT_FALSE(problem().empty());

  proxy_->finish(0, stream_);
  (void)proxy_->end();

  EXPECT_TRUE(soon([&] { return proxy_->calls_over() == 1; }));
  driver_.synchronize(stream_);
}

}  // namespace
}  // namespace polypath::test::network_proxy_test
