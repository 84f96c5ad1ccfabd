#include "kernels/mail.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/images.h"
#include "kernels/reduce.h"
#include "kernels/reduce_layout.h"

namespace polypath {
namespace {

// More do not gain anything on an H200 (results/h200x2/kernels.json). Blocks of half as many
// threads take up to 0.5 us less for small messages (results/h100x4/lines.json).
constexpr std::uint64_t kLineThreads = 256, kMostLineBlocks = 192;
// So many leave room for what else a GPU does: beside a product an all-reduce of 128 MiB and that
// take 1.64 ms together, with 128 blocks 1.83. Alone messages take up to 1.1 times as long
// (results/h200x2/blocks.json).
constexpr std::uint64_t kMostParcelBlocks = 64;
constexpr std::uint64_t kMostOfParcel = 64 << 10;
constexpr std::uint64_t kParcelAlignment = 256;
constexpr std::uint64_t kLeastRows = 2;  // of a lap, so that one is sent while one is taken in

std::uint64_t divided_up(std::uint64_t bytes, std::uint64_t parts) {
  return (bytes + parts - 1) / parts;
}

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
  const std::uint64_t most = in_lines ? kMostLineBlocks : kMostParcelBlocks;
  const std::uint64_t asked = std::uint64_t{call.multiprocessors} * (in_lines ? 2 : 1);
  return asked == 0 ? most : std::min(asked, most);
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
  const std::uint64_t rounds = divided_up(bytes, most_of_them * most);
  const std::uint64_t even = divided_up(bytes, most_of_them * rounds);
  const std::uint64_t parcel = divided_up(even, kParcelAlignment) * kParcelAlignment;
  const std::uint64_t all = parcels_of(message.value, parcel);
  const std::uint64_t blocks = std::min(all, most_of_them), rows = divided_up(all, blocks);
  const std::uint64_t fit = std::min(room / parcel, kMostParcels - kMostParcelBlocks);
  const std::uint64_t rows_of_lap =
      all <= fit ? rows : std::clamp<std::uint64_t>(fit / blocks, 1, rows);
  return {parcel, blocks, blocks * rows_of_lap, divided_up(rows, rows_of_lap)};
}

bool is_shared(const Mail& mail) { return mail.use == MailUse::reduce_and_share; }

// The same on the host, laid out as GPUs do it. No rank reads while it is written: all that is
// received in a call has been sent, and a flag that is not there is a mistake.
class HostMail {
 public:
  HostMail(std::span<std::byte* const> memory, std::span<const std::uint64_t> values)
      : memory_(memory) {
    std::memcpy(&of_, values.data(), kMailValues * sizeof(std::uint64_t));
    if (values.size() > kMailValues) lap_ = values[kMailValues];
    std::memcpy(&call_, mailbox(of_.rank) + kMailCalls, sizeof call_);
    ++call_;
    half_ = kMailBoxes + (call_ & 1) * (of_.ranks - 1) * of_.box;
    if (of_.parcel == 0) return;
    const std::uint64_t laps = divided_up(parcels_of(of_.bytes, of_.parcel), of_.slots);
    is_second_phase_ = lap_ >= laps;
    lap_bytes_ = of_.slots * of_.parcel, begin_ = lap_ % laps * lap_bytes_;
  }

  [[nodiscard]] bool is_second_phase() const { return is_second_phase_; }

  void send() const {
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) write(sent(to), box(to, of_.rank));
  }
  void reduce() const { reduce_at(memory_[1]); }
  void reduce_own_part() const { reduce_at(memory_[1] + of_.rank * of_.receive_stride); }
  // Every rank reduces all, of values in the others' mailboxes: a kernel of a GPU sends each line
  // of its result when it is there, but here all meet only once. The values that a rank would send
  // to itself have no place in a mailbox and are sent to all in place of its result.
  void send_to_be_shared() const {
    send();
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) write(sent(of_.rank), result_box(to, of_.rank));
  }
  void reduce_and_share() const {
    for (std::uint64_t part = 0; part < of_.ranks; ++part) {
      const auto value = [&](std::uint64_t from) { return value_of(part, from); };
      const std::vector<std::byte> sum = reduced(value, message_bytes(of_, part, part));
      std::copy(sum.begin(), sum.end(), memory_[1] + part * of_.receive_stride);
    }
  }
  // In place this rank's own is where it goes.
  void store() const {
    for (std::uint64_t from = 0; from < of_.ranks; ++from) {
      const std::vector<std::byte> message = arrived(from);
      std::copy(message.begin(), message.end(), memory_[1] + from * of_.receive_stride + begin_);
    }
  }
  // All that is read after meeting is looked at, and nothing written.
  [[nodiscard]] bool has_arrived(bool shares_lines) const {
    try {
      for (std::uint64_t from = 0; from < of_.ranks; ++from)
        if (!shares_lines) (void)arrived(from);
      for (std::uint64_t part = 0; shares_lines && part < of_.ranks; ++part)
        for (std::uint64_t from = 0; from < of_.ranks; ++from) (void)value_of(part, from);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  [[nodiscard]] bool is_abandoned() const {
    std::uint32_t word = 0;
    std::memcpy(&word, mailbox(of_.rank) + kMailAbandoned, sizeof word);
    return word != 0;
  }
  void finish() const { std::memcpy(mailbox(of_.rank) + kMailCalls, &call_, sizeof call_); }

 private:
  // The part of a message that lies together, with a flag of its own.
  struct Stretch {
    std::uint64_t begin, bytes;  ///< of the message
    std::uint64_t at, flag;      ///< in the box
  };
  [[nodiscard]] Stretch line(std::uint64_t number, std::uint64_t message) const {
    const std::uint64_t begin = number * kLineMessage, at = number * kLineBytes;
    return fitting({begin, std::min(kLineMessage, message - begin), at, at + kLineMessage});
  }
  [[nodiscard]] Stretch parcel(std::uint64_t number, std::uint64_t message) const {
    const std::uint64_t begin = number * of_.parcel;
    return fitting({begin, std::min(of_.parcel, message - begin), kParcelFlags + begin,
                    number * sizeof call_});
  }
  [[nodiscard]] Stretch fitting(const Stretch& stretch) const {
    const bool is_parcel = of_.parcel != 0;
    const std::uint64_t flags = is_parcel ? kParcelFlags : of_.box;
    if (stretch.at + stretch.bytes > of_.box || stretch.flag + sizeof call_ > flags)
      fail(ErrorCode::internal, "a message does not fit its box in a mailbox",
           "boxes are made for smaller ones");
    return stretch;
  }
  template <class Do>
  void for_all(std::uint64_t message, Do what) const {
    if (of_.parcel == 0)
      for (std::uint64_t i = 0; i < lines_of(message); ++i) what(line(i, message));
    else
      for (std::uint64_t i = 0; i < parcels_of(message, of_.parcel); ++i) what(parcel(i, message));
  }

  void write(std::span<const std::byte> message, std::byte* box) const {
    for_all(message.size(), [&](const Stretch& stretch) {
      if (stretch.bytes > 0)
        std::memcpy(box + stretch.at, message.data() + stretch.begin, stretch.bytes);
      std::memcpy(box + stretch.flag, &call_, sizeof call_);
    });
  }
  [[nodiscard]] std::vector<std::byte> read(const std::byte* box, std::uint64_t bytes) const {
    std::vector<std::byte> message(bytes);
    for_all(bytes, [&](const Stretch& stretch) {
      if (std::memcmp(box + stretch.flag, &call_, sizeof call_) != 0)
        fail(ErrorCode::internal, "a message is not in its mailbox",
             "it was not sent, or another one has been written over it");
      if (stretch.bytes > 0)
        std::memcpy(message.data() + stretch.begin, box + stretch.at, stretch.bytes);
    });
    return message;
  }

  // Of `bytes` bytes from each rank, in the order of the ranks.
  template <class Value>
  [[nodiscard]] std::vector<std::byte> reduced(Value value, std::uint64_t bytes) const {
    if (bytes == 0) return {};
    std::vector<std::byte> sum = value(0);
    for (std::uint64_t from = 1; from < of_.ranks; ++from) {
      const Reduction next =
          reduction_of(code_of_mail(of_.reduction), values_of_mail(of_.reduction, from));
      reduce_on_host(next, sum.data(), value(from).data(), Bytes{bytes});
    }
    return sum;
  }

  // A rank's values of a part: in the mailbox of the rank that reduces it.
  [[nodiscard]] std::vector<std::byte> value_of(std::uint64_t part, std::uint64_t from) const {
    const std::uint64_t bytes = message_bytes(of_, part, part);
    if (from != part) return read(box(part, from), bytes);
    if (part != of_.rank) return read(result_box(of_.rank, part), bytes);
    return {input(part), input(part) + bytes};
  }
  [[nodiscard]] std::byte* result_box(std::uint64_t at, std::uint64_t from) const {
    return box(at, from) + box_bytes(of_.bytes);
  }

  [[nodiscard]] std::byte* mailbox(std::uint64_t rank) const { return memory_[2 + rank]; }
  [[nodiscard]] std::byte* box(std::uint64_t at, std::uint64_t from) const {
    return mailbox(at) + half_ + box_number(at, from) * of_.box;
  }
  [[nodiscard]] const std::byte* input(std::uint64_t to) const {
    return memory_[0] + to * of_.send_stride;
  }
  // The bytes that this rank sends to another one in the lap.
  [[nodiscard]] std::span<const std::byte> sent(std::uint64_t to) const {
    if (is_second_phase_)
      return cut({memory_[1] + of_.rank * of_.receive_stride, of_message(of_.rank, of_.rank)});
    return cut({input(to), of_message(of_.rank, to)});
  }
  [[nodiscard]] std::vector<std::byte> arrived(std::uint64_t from) const {
    const std::span<const std::byte> own = sent(of_.rank);
    if (from == of_.rank) return {own.begin(), own.end()};
    const std::uint64_t bytes = of_message(from, is_second_phase_ ? from : of_.rank);
    return read(box(of_.rank, from), std::min(bytes - std::min(bytes, begin_), lap_bytes_));
  }
  void reduce_at(std::byte* result) const {
    const auto value = [&](std::uint64_t from) { return arrived(from); };
    const std::vector<std::byte> sum = reduced(value, sent(of_.rank).size());
    std::copy(sum.begin(), sum.end(), result + begin_);
  }
  [[nodiscard]] std::uint64_t of_message(std::uint64_t from, std::uint64_t to) const {
    return message_bytes(of_, from, to);
  }
  [[nodiscard]] std::span<const std::byte> cut(std::span<const std::byte> message) const {
    const std::uint64_t begin = std::min<std::uint64_t>(begin_, message.size());
    return message.subspan(begin, std::min<std::uint64_t>(lap_bytes_, message.size() - begin));
  }

  std::span<std::byte* const> memory_;
  MailParameters of_{};
  std::uint32_t call_ = 0;
  std::uint64_t half_ = 0;
  std::uint64_t lap_ = 0, begin_ = 0, lap_bytes_ = ~std::uint64_t{0};  ///< of each message
  bool is_second_phase_ = false;  ///< in which what was reduced is shared
};

void send(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  HostMail(memory, values).send();
}
void reduce(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.reduce(), mail.finish();
}
void store(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.store(), mail.finish();
}
void send_to_be_shared(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  HostMail(memory, values).send_to_be_shared();
}
void reduce_and_share(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  mail.reduce_and_share(), mail.finish();
}

void share_parcels(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  if (mail.is_second_phase()) mail.store();
  else mail.reduce_own_part();
  mail.finish();
}

const char* verb_of(MailUse use) {
  switch (use) {
    case MailUse::reduce: return "_and_reduce";
    case MailUse::store: return "_and_store";
    case MailUse::reduce_and_share: return "_reduce_and_share";
  }
  return "";
}
HostKernel after_exchange_of(MailUse use, bool in_lines) {
  switch (use) {
    case MailUse::reduce: return reduce;
    case MailUse::store: return store;
    case MailUse::reduce_and_share: return in_lines ? reduce_and_share : share_parcels;
  }
  return {};
}

Bytes stride_to(const MailCall& call, int message) {
  return call.mail.stride * static_cast<std::uint64_t>(message);
}

}  // namespace

Kernel mail_kernel(MailUse use, MailWay way) {
  const bool in_lines = way == MailWay::lines;
  return {.name = std::string(in_lines ? "exchange" : "exchange_parcels") + verb_of(use),
          .image = std::string(kernel_image(in_lines ? "mail" : "parcels")),
          .on_host = in_lines && use == MailUse::reduce_and_share ? send_to_be_shared : send,
          .after_exchange = after_exchange_of(use, in_lines),
          .parameters = sizeof(MailParameters) / sizeof(std::uint64_t)};
}

std::optional<MailKind> mail_kind_of(std::string_view name) {
  for (const MailUse use : {MailUse::reduce, MailUse::store, MailUse::reduce_and_share})
    for (const MailWay way : {MailWay::lines, MailWay::parcels})
      if (mail_kernel(use, way).name == name) return MailKind{use, way};
  return std::nullopt;
}

int mail_ranks(std::span<const std::uint64_t> values) {
  MailParameters of{};
  std::memcpy(&of, values.data(), kMailValues * sizeof(std::uint64_t));
  return static_cast<int>(of.ranks);
}

int mail_laps(const MailKind& kind, std::span<const std::uint64_t> values) {
  if (kind.way == MailWay::lines) return 1;
  MailParameters of{};
  std::memcpy(&of, values.data(), kMailValues * sizeof(std::uint64_t));
  const std::uint64_t laps = divided_up(parcels_of(of.bytes, of.parcel), of.slots);
  return static_cast<int>(kind.use == MailUse::reduce_and_share ? 2 * laps : laps);
}

bool mail_has_arrived(const MailKind& kind, std::span<std::byte* const> memory,
                      std::span<const std::uint64_t> values) {
  const bool shares_lines = kind.use == MailUse::reduce_and_share && kind.way == MailWay::lines;
  return HostMail(memory, values).has_arrived(shares_lines);
}

bool mail_is_abandoned(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  return HostMail(memory, values).is_abandoned();
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
          only(mail.receiver),
          call.box.value,
          mail.way == MailWay::lines ? 0 : layout_of(call).parcel,
          mail.way == MailWay::lines ? 0 : layout_of(call).slots};
}

Bytes message_bytes(const MailCall& call, int from, int to) {
  MailParameters of{};
  const std::vector<std::uint64_t> values = mail_values(call);
  std::memcpy(&of, values.data(), kMailValues * sizeof(std::uint64_t));
  return {message_bytes(of, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to))};
}

Bytes bytes_read(const MailCall& call) {
  Bytes end;
  for (int to = 0; to < call.ranks; ++to) {
    const Bytes bytes = message_bytes(call, call.rank, to);
    const Bytes begin = call.mail.same_for_all ? Bytes{} : stride_to(call, to);
    if (bytes.value > 0) end = std::max(end, begin + bytes);
  }
  return end;
}

Bytes bytes_written(const MailCall& call) {
  Bytes end;
  const bool shares = is_shared(call.mail);
  for (int from = 0; from < call.ranks; ++from) {
    const Bytes bytes = message_bytes(call, from, shares ? from : call.rank);
    const Bytes begin = call.mail.use == MailUse::reduce ? Bytes{} : stride_to(call, from);
    if (bytes.value > 0) end = std::max(end, begin + bytes);
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
  return static_cast<int>(is_shared(call.mail) ? 2 * laps : laps);
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

}  // namespace polypath
