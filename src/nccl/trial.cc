#include "nccl/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "core/text.h"
#include "nccl/choices_file.h"
#include "nccl/member_messages.h"

namespace polypath::nccl {
namespace {

constexpr std::array kMessages = {1_KiB, 16_KiB, 64_KiB, 256_KiB, 512_KiB, 1_MiB,   2_MiB,
                                  4_MiB, 8_MiB,  16_MiB, 64_MiB,  256_MiB, 512_MiB, 1_GiB};
constexpr int kRounds = 3;  // in turn; the best of each counts
// Calls of a round: short ones are over before the next one is there, and that is what programs
// see.
constexpr Bytes kFew = 1_MiB;
constexpr int kShortCalls = 10, kLongCalls = 3;
constexpr Bytes kLongest = 128_MiB;  // beyond it two rounds of one call, and none before
constexpr int kLongestRounds = 2;
// Calls beyond `kFew` are timed size by size, until a size's rounds take so long: that is as long
// as the start may wait, and longer calls would say the same of the links.
constexpr Seconds kLongEnough{20e-3};

// One way between two ranks each, and from every rank to every other one.
constexpr std::array kBytesOfMessages = {1_MiB, 4_MiB, 16_MiB, 64_MiB, 256_MiB};
enum class Pattern { pairs, everyone };

/// A kind of call that is timed.
struct Kind {
  Operation operation;
  Type type = kUint8;
};
constexpr std::array kKinds = {Kind{Operation::all_reduce, kFloat32},
                               Kind{Operation::all_reduce, kBfloat16},
                               Kind{Operation::reduce_scatter, kFloat32},
                               Kind{Operation::reduce_scatter, kBfloat16},
                               Kind{Operation::reduce, kFloat32},
                               Kind{Operation::all_gather},
                               Kind{Operation::broadcast},
                               Kind{Operation::all_to_all}};

/// Calls of one size, and when the rounds of each side began and ended.
struct Timed {
  CallClass of;
  Bytes message;
  int calls = 1;
  std::vector<std::pair<EventHandle, EventHandle>> real, ours;
  bool is_whole = true;  ///< all calls of ours were made by us
};

/// One rank's part of the trial. The rounds of a size are enqueued before they are waited for: so
/// the GPU, and not the calling thread, says what calls take.
class Trial {
 public:
  Trial(const Functions& real, Comm comm, Member& member)
      : real_(real),
        comm_(comm),
        member_(member),
        driver_(member.around().driver),
        stream_(driver_.create_stream(member.gpu())) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    give_back();
    for (const EventHandle event : events_) ignore_errors([&] { driver_.destroy_event(event); });
    ignore_errors([&] { driver_.destroy_stream(stream_); });
  }

  Choices run(Bytes most) {
    const Bytes wanted = std::min(most, kMessages.back()), limit = allocate(wanted);
    Choices choices;
    if (limit < wanted) choices.end_at(limit);
    add_short(choices, limit);
    for (const Kind& kind : kKinds)
      if (is_there(kind.operation)) add_long(choices, kind, limit);
    if (member_.messages() != nullptr && real_.Send != nullptr && real_.Recv != nullptr)
      add_messages(choices, limit);
    return choices;
  }

 private:
  // All ranks have enqueued all: the stream ends. False if a rank says that something was left.
  bool synchronize(const Blob& left = {}) {
    const std::vector<Blob> all = member_.all_gather(left);
    driver_.synchronize(stream_);
    return std::ranges::all_of(all, [](const Blob& each) { return each.empty(); });
  }
  void add_short(Choices& choices, Bytes limit) {
    std::vector<Timed> all;
    for (const Kind& kind : kKinds) {
      if (!is_there(kind.operation)) continue;
      for (const Bytes message : kMessages)
        if (message <= std::min(limit, kFew)) all.push_back(enqueue(kind, message));
    }
    (void)synchronize();
    for (const Timed& timed : all) choices.add(timed.of, sample_of(timed));
  }
  void add_long(Choices& choices, const Kind& kind, Bytes limit) {
    for (const Bytes message : kMessages) {
      if (message <= kFew || message > limit) continue;
      const Timed timed = enqueue(kind, message);
      (void)synchronize();
      choices.add(timed.of, sample_of(timed));
      if (is_long_enough(timed)) return;
    }
  }
  // Rank 0 says so to all.
  [[nodiscard]] bool is_long_enough(const Timed& timed) {
    Seconds all;
    for (const auto* const rounds : {&timed.real, &timed.ours})
      for (const auto& [begin, end] : *rounds)
        all += driver_.elapsed(begin, end).value_or(Seconds::infinity());
    const bool is_long = member_.rank() == 0 && all >= kLongEnough;
    return !member_.all_gather(is_long ? Blob("long") : Blob()).front().empty();
  }
  // Of two patterns the smaller gain counts. All ranks wait after each, and after each round: a
  // rank has only so many messages of ours under way, among many ranks few.
  void add_messages(Choices& choices, Bytes limit) {
    if (limit < kBytesOfMessages.front()) return;
    member_.messages()->open(memory_);
    for (const Bytes bytes : kBytesOfMessages) {
      if (bytes > limit) break;
      const auto one = time_messages(Pattern::pairs, bytes);
      const auto all = time_messages(Pattern::everyone, bytes);
      if (!one || !all) break;
      choices.add({Operation::send}, one->real / one->ours < all->real / all->ours ? *one : *all);
    }
    member_.messages()->close();
  }
  // None, at all ranks, if memory of one cannot be opened to another one.
  [[nodiscard]] std::optional<Sample> time_messages(Pattern pattern, Bytes bytes) {
    const Timed timed = enqueue_messages(messages_of(pattern, bytes), bytes);
    const bool is_whole = synchronize(timed.is_whole ? Blob() : Blob("left"));
    return is_whole ? std::optional(sample_of(timed)) : std::nullopt;
  }
  // Sums of what is received are of no interest: all messages of a rank use the same memory.
  [[nodiscard]] std::vector<Call> messages_of(Pattern pattern, Bytes bytes) const {
    std::vector<Call> calls;
    const auto add = [&](Operation operation, int peer) {
      calls.push_back({.operation = operation,
                       .send = pointer(memory_.front()),
                       .receive = pointer(memory_.back()),
                       .count = bytes.value,
                       .type = kUint8,
                       .other = peer,
                       .comm = comm_,
                       .stream = member_.around().native(stream_)});
    };
    const int rank = member_.rank(), size = member_.size();
    for (int peer = 0; peer < size && pattern == Pattern::everyone; ++peer)
      if (peer != rank) add(Operation::send, peer), add(Operation::receive, peer);
    const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
    if (pattern == Pattern::pairs && partner < size)
      add(rank < partner ? Operation::send : Operation::receive, partner);
    return calls;
  }
  [[nodiscard]] Timed enqueue_messages(const std::vector<Call>& calls, Bytes bytes) {
    Timed timed{
        .of = {Operation::send}, .message = bytes, .calls = kLongCalls, .real = {}, .ours = {}};
    const auto by_nccl = [&] {
      (void)real_.GroupStart();
      for (const Call& call : calls) by_real(call);
      if (real_.GroupEnd() != kSuccess)
        fail(ErrorCode::internal, "NCCL cannot be measured", "a group of messages fails");
    };
    const auto by_us = [&] {
      std::vector<MessageTask> tasks;
      for (const Call& call : calls)
        timed.is_whole = member_.messages()->begin(call, tasks) && timed.is_whole;
      if (!tasks.empty()) member_.messages()->run(tasks, calls, false);
    };
    by_nccl(), by_us();
    for (int round = 0; round < kRounds; ++round) {
      (void)synchronize();
      timed.real.push_back(between(by_nccl, timed.calls));
      timed.ours.push_back(between(by_us, timed.calls));
    }
    return timed;
  }
  void by_real(const Call& call) const {
    if (const Result result = make(real_, call); result != kSuccess)
      fail(ErrorCode::internal, "NCCL cannot be measured",
           fmt::format("{} returns {}", name_of(call.operation), result));
  }

  void give_back() noexcept {
    for (const Address memory : memory_) ignore_errors([&] { driver_.free(memory); });
    memory_.clear();
  }
  /// How much memory all ranks have, to send and to receive.
  Bytes allocate(Bytes wanted) {
    Bytes limit = wanted;
    const auto make = [&] {
      for (int i = 0; i < 2; ++i)
        memory_.push_back(driver_.allocate_shareable(member_.gpu(), limit));
    };
    while (limit >= kMessages.front() && !ignore_errors(make))
      give_back(), limit = Bytes{limit.value / 8};
    if (limit < kMessages.front()) limit = {};
    for (const Blob& other : member_.all_gather(std::to_string(limit.value)))
      limit = std::min(limit, Bytes{std::stoull(other)});
    return limit;
  }
  [[nodiscard]] bool is_there(Operation operation) const {
    return member_.has(operation) &&
           (operation != Operation::all_to_all || real_.AlltoAll != nullptr);
  }

  [[nodiscard]] Call call_of(const Kind& kind, Bytes message) const {
    Call call{.operation = kind.operation,
              .send = pointer(memory_.front()),
              .receive = pointer(memory_.back()),
              .count = 1,
              .type = kind.type,
              .comm = comm_,
              .stream = member_.around().native(stream_)};
    call.count = message.value / message_of(call, member_.size()).value;
    return call;
  }
  [[nodiscard]] static void* pointer(Address address) {
    return reinterpret_cast<void*>(address.value);
  }

  [[nodiscard]] Timed enqueue(const Kind& kind, Bytes message) {
    const Call call = call_of(kind, message);
    const auto by_nccl = [&] { by_real(call); };
    const auto by_us = [&] { member_.run(call); };
    const bool is_longest = message > kLongest;
    if (!is_longest) by_nccl(), by_us();
    Timed timed{.of = class_of(call),
                .message = message,
                .calls = is_longest       ? 1
                         : message > kFew ? kLongCalls
                                          : kShortCalls,
                .real = {},
                .ours = {}};
    for (int round = 0; round < (is_longest ? kLongestRounds : kRounds); ++round) {
      timed.real.push_back(between(by_nccl, timed.calls));
      timed.ours.push_back(between(by_us, timed.calls));
    }
    return timed;
  }
  template <class Make>
  [[nodiscard]] std::pair<EventHandle, EventHandle> between(Make make, int calls) {
    const EventHandle begin = mark();
    for (int i = 0; i < calls; ++i) make();
    return {begin, mark()};
  }
  EventHandle mark() {
    events_.push_back(driver_.create_timing_event(member_.gpu()));
    driver_.record(events_.back(), stream_);
    return events_.back();
  }

  [[nodiscard]] Sample sample_of(const Timed& timed) {
    Sample best{timed.message, Seconds::infinity(), Seconds::infinity()};
    const auto time = [&](const std::pair<EventHandle, EventHandle>& round) {
      return driver_.elapsed(round.first, round.second).value_or(Seconds::infinity()) *
             (1.0 / timed.calls);
    };
    for (const auto& round : timed.real) best.real = std::min(best.real, time(round));
    for (const auto& round : timed.ours) best.ours = std::min(best.ours, time(round));
    return best;
  }

  const Functions& real_;
  Comm comm_;
  Member& member_;
  Driver& driver_;
  StreamHandle stream_;
  std::vector<EventHandle> events_;
  std::vector<Address> memory_;
};

void describe(const Choices& choices) {
  for (const auto& [of, samples] : choices.samples())
    for (const Sample& sample : samples)
      log(LogLevel::debug,
          fmt::format("NCCL's {} of {}{}: {:.1f} us, here {:.1f} us", name_of(of.operation),
                      describe_bytes(sample.message), of.is_usual_sum ? "" : " (not float32 sums)",
                      sample.real.value * 1e6, sample.ours.value * 1e6));
}

}  // namespace

Choices measure(const Functions& real, Comm comm, Member& member, Bytes most) {
  const Choices own = Trial(real, comm, member).run(most);
  const Blob mine = member.rank() == 0 ? choices_to_json(own) : Blob();
  Choices agreed = parse_choices(member.all_gather(mine).front(), "rank 0");
  if (member.rank() == 0 && logs(LogLevel::debug)) describe(agreed);
  return agreed;
}

}  // namespace polypath::nccl
