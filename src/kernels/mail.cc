#include "kernels/mail.h"

#include <algorithm>
#include <array>

#include "kernels/host_mail.h"
#include "kernels/images.h"
#include "kernels/reduce.h"
#include "kernels/reduce_layout.h"

namespace polypath::kernels {
namespace {

// More do not gain anything on an H200 (results/h200x2/kernels.json). Blocks of half as many
// threads take up to 0.5 us less for small messages (results/h100x4/lines.json).
constexpr std::uint64_t kLineThreads = 256, kMostLineBlocks = 192;
// So many leave room for what else a GPU does: beside a product an all-reduce of 128 MiB of two
// GPUs and that take 1.64 ms together, with 128 blocks 1.83 (results/h200x2/blocks.json); one of
// 256 MiB of four 2.00, with 128 blocks 2.58 (results/h200x4/beside_product.json). Cost: alone
// messages take up to 1.1 times as long between two (blocks.json) and 1.06 among four
// (parcel_blocks.json).
constexpr std::uint64_t kUsualParcelBlocks = 64, kMostParcelBlocks = 128;
constexpr std::uint64_t kMostOfParcel = 64 << 10;
constexpr std::uint64_t kParcelAlignment = 256;
constexpr std::uint64_t kLeastRows = 2;  // of a lap, so that one is sent while one is taken in
// Of a message to or from a root or one that is passed on, so that its parcels are on their way to
// it or from it while others are on theirs between the other ranks; if they are not smaller than
// that.
constexpr std::uint64_t kLeastRounds = 8, kLeastOfRounds = 8 << 10;

// How a message goes in parcels through a box.
struct ParcelLayout {
  std::uint64_t parcel;  ///< the largest
  std::uint64_t blocks;
  std::uint64_t slots;  ///< parcels of a lap
  std::uint64_t laps;
};

// Two blocks of lines find room on a multiprocessor, one of parcels.
std::uint64_t most_blocks(const MailCall& call) {
  const bool in_lines = call.mail.way == MailWay::lines;
  const std::uint64_t asked = std::uint64_t{call.multiprocessors} * (in_lines ? 2 : 1);
  if (asked == 0) return in_lines ? kMostLineBlocks : kUsualParcelBlocks;
  return std::min(asked, in_lines ? kMostLineBlocks : kMostParcelBlocks);
}

// Rounds of all blocks, and the part of each for one block.
ParcelLayout layout_of(const MailCall& call) {
  const Bytes message = call.mail.message;
  const std::uint64_t most_of_them = most_blocks(call);
  const std::uint64_t bytes = std::max<std::uint64_t>(message.value, 1);
  const std::uint64_t room = call.box.value - std::min(call.box.value, kParcelFlags);
  const std::uint64_t fitting =
      room / (kLeastRows * most_of_them) / kParcelAlignment * kParcelAlignment;
  const std::uint64_t most = std::clamp(fitting, kParcelAlignment, kMostOfParcel);
  const bool in_rounds = call.mail.root || call.mail.use == MailUse::pass_on;
  const std::uint64_t least = in_rounds ? bytes / (most_of_them * kLeastOfRounds) : 1;
  const std::uint64_t rounds =
      std::max(divided_up(bytes, most_of_them * most), std::min(least, kLeastRounds));
  const std::uint64_t even = divided_up(bytes, most_of_them * rounds);
  const std::uint64_t parcel = divided_up(even, kParcelAlignment) * kParcelAlignment;
  const std::uint64_t all = parcels_of(message.value, parcel);
  const std::uint64_t blocks = std::min(all, most_of_them), rows = divided_up(all, blocks);
  const std::uint64_t fit = std::min(room / parcel, kMostParcels - kMostParcelBlocks);
  const std::uint64_t most_rows =
      all <= fit ? rows : std::clamp<std::uint64_t>(fit / blocks, 1, rows);
  const std::uint64_t rows_of_lap = in_rounds ? std::min(kLeastRows, most_rows) : most_rows;
  return {parcel, blocks, blocks * rows_of_lap, divided_up(rows, rows_of_lap)};
}

constexpr std::array kMailUses = {MailUse::reduce, MailUse::store, MailUse::reduce_and_share,
                                  MailUse::store_and_share, MailUse::pass_on};

const char* verb_of(MailUse use) {
  switch (use) {
    case MailUse::reduce: return "_and_reduce";
    case MailUse::store: return "_and_store";
    case MailUse::reduce_and_share: return "_reduce_and_share";
    case MailUse::store_and_share: return "_store_and_share";
    case MailUse::pass_on: return "_pass_on";
  }
  return "";
}
MailParameters parameters_of(const MailCall& call) {
  return kernels::parameters_of(mail_values(call));
}

}  // namespace

Kernel mail_kernel(MailUse use, MailWay way) {
  const bool in_lines = way == MailWay::lines;
  return {.name = std::string(in_lines ? "exchange" : "exchange_parcels") + verb_of(use),
          .image = std::string(kernel_image(in_lines ? "mail" : "parcels")),
          .on_host = mail_before_exchange(use, way),
          .after_exchange = mail_after_exchange(use, way),
          .parameters = sizeof(MailParameters) / sizeof(std::uint64_t)};
}

std::optional<MailKind> mail_kind_of(std::string_view name) {
  for (const MailUse use : kMailUses)
    for (const MailWay way : {MailWay::lines, MailWay::parcels})
      if (mail_kernel(use, way).name == name) return MailKind{use, way};
  return std::nullopt;
}

int mail_ranks(std::span<const std::uint64_t> values) {
  return static_cast<int>(parameters_of(values).ranks);
}

int mail_rank(std::span<const std::uint64_t> values) {
  return static_cast<int>(parameters_of(values).rank);
}

int mail_laps(const MailKind& kind, std::span<const std::uint64_t> values) {
  if (kind.way == MailWay::lines) return 1;
  const MailParameters of = parameters_of(values);
  const std::uint64_t laps = divided_up(parcels_of(of.bytes, of.parcel), of.slots);
  return static_cast<int>(has_second_phase(kind.use) ? 2 * laps : laps + laps_before_last(of));
}

std::vector<std::uint64_t> mail_values(const MailCall& call) {
  const Mail& mail = call.mail;
  const auto only = [](std::optional<int> rank) {
    return rank ? static_cast<std::uint64_t>(*rank) : kEveryRank;
  };
  const bool averages = call.reduction.operation == ReduceOperator::average;
  const auto values = static_cast<std::uint64_t>(averages ? call.reduction.values : 0);
  return {mail_reduction(reduction_code(call.reduction), values),
          static_cast<std::uint64_t>(call.rank),
          static_cast<std::uint64_t>(call.ranks),
          mail.message.value,
          mail.same_for_all ? 0 : mail.stride.value,
          mail.stride.value,
          mail.end.value,
          only(mail.sender),
          mail.use == MailUse::pass_on ? kNextRank : only(mail.receiver),
          only(mail.root),
          call.box.value,
          mail.way == MailWay::lines ? 0 : layout_of(call).parcel,
          mail.way == MailWay::lines ? 0 : layout_of(call).slots};
}

Bytes message_bytes(const MailCall& call, int from, int to) {
  const MailParameters of = parameters_of(call);
  return {
      kernels::message_bytes(of, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to))};
}

Bytes shared_bytes(const MailCall& call, int from, int to) {
  const MailParameters of = parameters_of(call);
  return {
      kernels::shared_bytes(of, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to))};
}

Bytes bytes_read(const MailCall& call) {
  const MailParameters of = parameters_of(call);
  // The others send on what they have stored.
  if (is_passed_on(of) && static_cast<std::uint64_t>(call.rank) != of.sender) return {};
  Bytes end;
  for (int to = 0; to < call.ranks; ++to) {
    const Bytes bytes = message_bytes(call, call.rank, to);
    const Bytes begin{part_number(of, static_cast<std::uint64_t>(to)) * of.send_stride};
    if (bytes.value > 0) end = std::max(end, begin + bytes);
  }
  return end;
}

Bytes bytes_written(const MailCall& call) {
  // The root of what is shared has all of it already, and copies it to where the others get it.
  if (call.mail.use == MailUse::store_and_share) return call.mail.end;
  const MailParameters of = parameters_of(call);
  Bytes end;
  for (int from = 0; from < call.ranks; ++from) {
    const bool is_shared = has_second_phase(call.mail.use);
    const Bytes bytes =
        is_shared ? shared_bytes(call, from, call.rank) : message_bytes(call, from, call.rank);
    const Bytes begin{part_number(of, static_cast<std::uint64_t>(from)) * of.receive_stride};
    if (bytes.value > 0)
      end = std::max(end, call.mail.use == MailUse::reduce ? bytes : begin + bytes);
  }
  return end;
}

LaunchShape mail_shape(const MailCall& call) {
  const Bytes message = call.mail.message;
  if (call.mail.way == MailWay::parcels)
    return {.blocks = static_cast<unsigned>(layout_of(call).blocks),
            .threads_per_block = kParcelThreads};
  constexpr std::uint64_t kLinesOfBlock = kLineThreads / kThreadsOfLine;
  const std::uint64_t blocks = divided_up(lines_of(message.value), kLinesOfBlock);
  return {.blocks = static_cast<unsigned>(std::min(blocks, most_blocks(call))),
          .threads_per_block = static_cast<unsigned>(kLineThreads)};
}

int laps_of(const MailCall& call) {
  if (call.mail.way == MailWay::lines) return 1;
  const std::uint64_t laps = layout_of(call).laps;
  if (has_second_phase(call.mail.use)) return static_cast<int>(2 * laps);
  return static_cast<int>(laps + laps_before_last(parameters_of(call)));
}

int parcels_in_turn(const MailCall& call) {
  const ParcelLayout layout = layout_of(call);
  return static_cast<int>(
      divided_up(parcels_of(call.mail.message.value, layout.parcel), layout.blocks));
}

Bytes least_parcel_box() {
  return {kParcelFlags + kLeastRows * kMostParcelBlocks * kParcelAlignment};
}

Bytes box_for(Bytes message, MailWay way) {
  return {way == MailWay::lines ? box_bytes(message.value) : parcel_box_bytes(message.value)};
}

Bytes box_for_sharing(Bytes message) { return {2 * box_bytes(message.value)}; }

Bytes bytes_on_links(Bytes message, MailWay way) {
  return way == MailWay::lines ? box_for(message) : message;
}

}  // namespace polypath::kernels
