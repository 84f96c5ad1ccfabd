// The conformance suite of conformance.h: kernels that exchange messages (kernels/mail.h). With
// m(i, j) what rank i sends to rank j, which the tests write down from their own definition:
//
//   store:  rank j's output has m(i, j) of every i, each `stride` bytes behind the one before it
//   reduce: rank j's output is m(0, j) + m(1, j) + …
//   reduce and share: every rank's output has those sums of every j, where m(i, j) was in the input
//     if there is no root, else the root's has them of every other j
//   store and share: every rank's output has the root's m(root, j) of every other j, where they
//   were
//
// A root has no part: m(i, root) is nothing, and those behind it move up.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.h"
#include "driver/conformance.h"
#include "kernels/images.h"
#include "support/effort.h"

namespace polypath::test {
namespace {

using Elements = std::vector<std::uint32_t>;

constexpr std::size_t kElement = sizeof(std::uint32_t);
constexpr std::size_t kCalls = 3;  // one more than mailboxes have halves
constexpr unsigned kMostBlocks = 16;
constexpr std::uint32_t kUntouched = 0xabababab;

std::size_t elements_in(Bytes bytes) { return static_cast<std::size_t>(bytes.value) / kElement; }

Contents as_bytes(const Elements& elements) {
  Contents contents(elements.size() * kElement);
  std::memcpy(contents.data(), elements.data(), contents.size());
  return contents;
}

// As large as any message needs: from the first one's begin to the last one's end.
std::size_t room_of(const Mail& mail, int ranks) {
  return std::max(elements_in(mail.end), elements_in(mail.message)) +
         elements_in(mail.stride) * static_cast<std::size_t>(ranks);
}

// Of a rank's input, whose first element has the number 0.
Elements input_of(int rank, std::size_t call, std::size_t begin, std::size_t end) {
  Elements input(end - begin);
  std::iota(input.begin(), input.end(),
            1'000'000u * static_cast<std::uint32_t>(rank + 1) +
                77u * static_cast<std::uint32_t>(call) + static_cast<std::uint32_t>(begin));
  constexpr std::uint32_t kOdd = 2654435761;  // so that all bits differ
  for (std::uint32_t& each : input) each *= kOdd;
  return input;
}

// Where m(from, to) begins in the input and ends in it, in elements.
std::pair<std::size_t, std::size_t> sent(const Mail& mail, int from, int to) {
  if (mail.sender && *mail.sender != from) return {0, 0};
  if (mail.receiver && *mail.receiver != to) return {0, 0};
  if (mail.root == to) return {0, 0};
  const int part = mail.root && to > *mail.root ? to - 1 : to;
  const auto position = static_cast<std::size_t>(mail.same_for_all ? from : part);
  const std::size_t begin = position * elements_in(mail.stride);
  const std::size_t end = std::min(begin + elements_in(mail.message), elements_in(mail.end));
  if (end <= begin) return {0, 0};
  return mail.same_for_all ? std::pair{std::size_t{0}, end - begin} : std::pair{begin, end};
}

// m(0, to) + m(1, to) + … from where m(i, to) is in the input.
void add_sum(Elements& output, std::size_t at, const Mail& mail, int ranks, int to,
             std::size_t call, Reduction step) {
  step.values = ranks;
  for (int from = 0; from < ranks; ++from) {
    const auto [begin, end] = sent(mail, from, to);
    const Elements input = input_of(from, call, begin, end);
    step.into = from;
    const auto into = output.begin() + static_cast<std::ptrdiff_t>(at);
    if (from == 0) std::copy(input.begin(), input.end(), into);
    else if (end > begin)
      reduce_on_host(step, reinterpret_cast<std::byte*>(&*into),
                     reinterpret_cast<const std::byte*>(input.data()),
                     Bytes{input.size() * kElement});
  }
}

Elements output_of(const Mail& mail, int ranks, int rank, std::size_t call, Reduction step) {
  Elements output(room_of(mail, ranks), kUntouched);
  if (mail.use == MailUse::reduce) add_sum(output, 0, mail, ranks, rank, call, step);
  if (mail.use == MailUse::reduce_and_share && mail.root.value_or(rank) == rank)
    for (int part = 0; part < ranks; ++part)
      add_sum(output, sent(mail, 0, part).first, mail, ranks, part, call, step);
  if (mail.use == MailUse::store_and_share || mail.use == MailUse::pass_on) {
    const Elements input = input_of(*mail.sender, call, 0, elements_in(mail.end));
    std::ranges::copy(input, output.begin());
  }
  for (int from = 0; from < ranks && mail.use == MailUse::store; ++from) {
    const auto [begin, end] = sent(mail, from, rank);
    const Elements input = input_of(from, call, begin, end);
    const std::size_t at = static_cast<std::size_t>(from) * elements_in(mail.stride);
    std::copy(input.begin(), input.end(), output.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return output;
}

// In which a message goes at once.
Bytes box_of(const Mail& mail) {
  const bool in_lines = mail.way == MailWay::lines;
  return in_lines && mail.use == MailUse::reduce_and_share ? box_for_sharing(mail.message)
                                                           : box_for(mail.message, mail.way);
}

}  // namespace

void DriverMail::SetUp() {
  DriverConformance::SetUp();
  if (IsSkipped()) return;
  try {
    (void)kernel(gpu(), mail_kernel(MailUse::store));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
}

void DriverMail::expect_exchanged(Mail mail, int ranks, Bytes offset) {
  for (const MailWay way : {MailWay::lines, MailWay::parcels}) {
    const bool only_parcels = mail.root || mail.use == MailUse::pass_on;
    if (only_parcels && way == MailWay::lines) continue;
    mail.way = way, box_ = box_of(mail);
    expect_exchanged_so(mail, ranks, offset);
  }
  // In as many laps as it takes.
  box_ = least_parcel_box();
  if (box_ < box_of(mail)) expect_exchanged_so(mail, ranks, offset);
}

// Of one rank: its inputs and outputs for all calls.
RankOnGpu DriverMail::make_rank(const Mail& mail, int ranks, int rank, Bytes offset) {
  const Bytes mailbox{mailbox_bytes(static_cast<std::uint64_t>(ranks), box_.value)};
  RankOnGpu made{stream(gpu()), driver().allocate_zeros(gpu(), mailbox)};
  memory_.push_back(made.mailbox);
  const auto behind_offset = [&](const Elements& elements) {
    Contents contents(static_cast<std::size_t>(offset.value));
    const Contents bytes = as_bytes(elements);
    contents.insert(contents.end(), bytes.begin(), bytes.end());
    return allocate(gpu(), contents) + offset;
  };
  for (std::size_t call = 0; call < kCalls; ++call) {
    made.inputs.push_back(behind_offset(input_of(rank, call, 0, room_of(mail, ranks))));
    made.outputs.push_back(behind_offset(Elements(room_of(mail, ranks), kUntouched)));
  }
  return made;
}

void DriverMail::run_call(KernelHandle used, const Mail& mail, const std::vector<RankOnGpu>& all,
                          int rank, std::size_t call) {
  const RankOnGpu& own = all[static_cast<std::size_t>(rank)];
  const auto ranks = static_cast<int>(all.size());
  Reduction reduction = reduction_;
  reduction.values = ranks;
  const MailCall part{
      .mail = mail, .reduction = reduction, .rank = rank, .ranks = ranks, .box = box_};
  KernelRequest request{
      .kernel = used,
      .gpu = gpu(),
      .memory = {{own.inputs[call], gpu(), bytes_read(part)},
                 {own.outputs[call], gpu(), bytes_written(part), true}},
      .values = mail_values(part),
      .shape = mail_shape(part),
      .duration = 5_us,
      .group = KernelGroup{.rank = rank, .ranks = ranks, .mailboxes = 2, .laps = laps_of(part)}};
  // All ranks are on one GPU here, and those that run wait for those that do not.
  request.shape.blocks = std::min(request.shape.blocks, kMostBlocks);
  const Bytes mailbox{mailbox_bytes(static_cast<std::uint64_t>(ranks), part.box.value)};
  for (const RankOnGpu& each : all) request.memory.push_back({each.mailbox, gpu(), mailbox, true});
  driver().run(request, own.stream);
}

void DriverMail::expect_exchanged_so(const Mail& mail, int ranks, Bytes offset) {
  const KernelHandle used = kernel(gpu(), mail_kernel(mail.use, mail.way));
  std::vector<RankOnGpu> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(make_rank(mail, ranks, rank, offset));

  for (std::size_t call = 0; call < kCalls; ++call)
    for (int rank = 0; rank < ranks; ++rank) run_call(used, mail, all, rank, call);

  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t call = 0; call < kCalls; ++call) {
      const Contents expected = as_bytes(output_of(mail, ranks, rank, call, reduction_));
      const Address output = all[static_cast<std::size_t>(rank)].outputs[call];
      EXPECT_TRUE(same_bytes(read(output, expected.size()), expected))
          << "rank " << rank << " of " << ranks << ", call " << call << ", messages of "
          << mail.message.value << " B"
          << (mail.way == MailWay::lines ? " in lines" : " in parcels") << ", boxes of "
          << box_.value;
    }
}

namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverMail);

// From one element to several lines for each thread, and several parcels for each block; lines of
// 120 bytes have 30 elements, the smallest parcels 64. Of those 8'192 make eight for each block, at
// which one of two sending warps has nothing to do: it is far ahead of the other one.
constexpr std::uint64_t kCounts[] = {1, 29, 30, 31, 64, 65, 1000, 8'192, 100'003};

TEST_P(DriverMail, EveryRankGetsTheSumOfWhatAllHave) {
  for (const std::uint64_t count : kCounts)
    for (const int ranks : {2, 3, 4}) {
      const Bytes bytes = Bytes{kElement} * count;
      expect_exchanged(
          {.use = MailUse::reduce, .message = bytes, .end = bytes, .same_for_all = true}, ranks,
          Bytes{count % 16 * kElement});
    }
}

// Of any bits: the largest numbers, subnormal ones and what is no number.
TEST_P(DriverMail, EveryRankGetsWhatTheHostReduces) {
  for (int type = 0; type <= static_cast<int>(ElementType::uint64); ++type)
    for (int operation = 0; operation <= static_cast<int>(ReduceOperator::average); ++operation) {
      reduction_ = {static_cast<ReduceOperator>(operation), static_cast<ElementType>(type)};
      if (!can_reduce(reduction_.operation, reduction_.type)) continue;
      SCOPED_TRACE(testing::Message() << "type " << type << ", operation " << operation);
      for (const int ranks : {2, 5}) {
        const Bytes bytes = Bytes{kElement} * 4002;
        expect_exchanged(
            {.use = MailUse::reduce, .message = bytes, .end = bytes, .same_for_all = true}, ranks);
      }
    }
}

TEST_P(DriverMail, OneRankGetsTheSumOfWhatAllHave) {
  for (const std::uint64_t count : kCounts) {
    const Bytes bytes = Bytes{kElement} * count;
    expect_exchanged({.use = MailUse::reduce,
                      .message = bytes,
                      .end = bytes,
                      .same_for_all = true,
                      .receiver = 1},
                     3);
  }
}

TEST_P(DriverMail, EveryRankGetsWhatOneHas) {
  for (const std::uint64_t count : kCounts) {
    const Bytes bytes = Bytes{kElement} * count;
    expect_exchanged({.message = bytes, .end = bytes, .same_for_all = true, .sender = 2}, 4);
  }
}

// The last messages are shorter, or empty: 5 elements for 4 ranks are 2, 2, 1, 0.
TEST_P(DriverMail, EachRankGetsTheSumOfItsPart) {
  for (const std::uint64_t count : {std::uint64_t{5}, std::uint64_t{400'001}}) {
    const Bytes part = Bytes{kElement} * ((count + 3) / 4);
    expect_exchanged(
        {.use = MailUse::reduce, .message = part, .stride = part, .end = Bytes{kElement} * count},
        4);
  }
}

// The last parts are shorter, or empty, here too.
TEST_P(DriverMail, EveryRankGetsTheSumsOfAllParts) {
  for (const std::uint64_t count :
       {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{1000}, std::uint64_t{400'001}})
    for (const int ranks : {2, 3, 4, 5}) {
      if (count > 1000 && ranks % 2 == 0 && !is_long()) continue;
      const auto parts = static_cast<std::uint64_t>(ranks);
      const Bytes part = Bytes{kElement} * ((count + parts - 1) / parts);
      expect_exchanged({.use = MailUse::reduce_and_share,
                        .message = part,
                        .stride = part,
                        .end = Bytes{kElement} * count},
                       ranks, Bytes{count % 16 * kElement});
    }
}

// Of as many elements as make one part, parts of which the last ones are shorter or empty, and
// several laps.
constexpr std::uint64_t kRootCounts[] = {1, 5, 1000, 100'003, 400'001};

TEST_P(DriverMail, TheRootGetsTheSumsOfAllParts) {
  for (const std::uint64_t count : kRootCounts)
    for (const int ranks : {2, 3, 5}) {
      const auto parts = static_cast<std::uint64_t>(ranks - 1);
      const Bytes part = Bytes{kElement} * ((count + parts - 1) / parts);
      expect_exchanged({.use = MailUse::reduce_and_share,
                        .message = part,
                        .stride = part,
                        .end = Bytes{kElement} * count,
                        .root = static_cast<int>(count) % ranks},
                       ranks, Bytes{count % 16 * kElement});
    }
}

TEST_P(DriverMail, EveryRankGetsTheRootsParts) {
  for (const std::uint64_t count : kRootCounts)
    for (const int ranks : {2, 3, 5}) {
      const auto parts = static_cast<std::uint64_t>(ranks - 1);
      const Bytes part = Bytes{kElement} * ((count + parts - 1) / parts);
      const int root = static_cast<int>(count) % ranks;
      expect_exchanged({.use = MailUse::store_and_share,
                        .message = part,
                        .stride = part,
                        .end = Bytes{kElement} * count,
                        .sender = root,
                        .root = root},
                       ranks, Bytes{count % 16 * kElement});
    }
}

TEST_P(DriverMail, EveryRankGetsWhatIsPassedOn) {
  for (const std::uint64_t count : kRootCounts)
    for (const int ranks : {2, 3, 5}) {
      const Bytes bytes = Bytes{kElement} * count;
      expect_exchanged({.use = MailUse::pass_on,
                        .message = bytes,
                        .end = bytes,
                        .same_for_all = true,
                        .sender = static_cast<int>(count) % ranks},
                       ranks, Bytes{count % 16 * kElement});
    }
}

TEST_P(DriverMail, EveryRankGetsAllPartsSideBySide) {
  for (const std::uint64_t count : {std::uint64_t{5}, std::uint64_t{400'001}}) {
    const Bytes part = Bytes{kElement} * ((count + 3) / 4);
    expect_exchanged(
        {.message = part, .stride = part, .end = Bytes{kElement} * count, .same_for_all = true}, 4,
        Bytes{4});
  }
}

// Two of three ranks have called it: their kernels end without the third one's.
TEST_P(DriverMail, EndsOnceItsMailboxIsAbandoned) {
  const Bytes bytes = Bytes{kElement} * 100'000;  // several laps
  for (const MailWay way : {MailWay::lines, MailWay::parcels}) {
    const Mail mail{.way = way, .message = bytes, .stride = bytes, .end = bytes * 3};
    const KernelHandle used = kernel(gpu(), mail_kernel(mail.use, mail.way));
    box_ = way == MailWay::lines ? box_of(mail) : least_parcel_box();
    std::vector<RankOnGpu> all;
    for (int rank = 0; rank < 3; ++rank) all.push_back(make_rank(mail, 3, rank, {}));
    run_call(used, mail, all, 0, 0);

    for (const RankOnGpu& each : all)
      driver().signal(each.mailbox + Bytes{kMailAbandoned}, gpu(), 1);
    run_call(used, mail, all, 1, 0);

    for (const RankOnGpu& each : all) driver().synchronize(each.stream);
  }
}

TEST_P(DriverMail, EveryRankSendsEveryRankSomethingElse) {
  for (const std::uint64_t count : kCounts) {
    const Bytes part = Bytes{kElement} * count;
    expect_exchanged({.message = part, .stride = part, .end = part * 3}, 3, Bytes{8});
  }
}

}  // namespace
}  // namespace polypath::test
