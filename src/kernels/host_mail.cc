#include "kernels/host_mail.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/mailbox_layout.h"
#include "kernels/reduce.h"
#include "kernels/reduce_layout.h"

namespace polypath {
namespace {

// Messages in boxes, in lines or parcels, with the flags of one lap.
class BoxesOnHost {
 public:
  BoxesOnHost(const MailParameters& of, std::uint32_t flag) : of_(of), flag_(flag) {}

  void write(std::span<const std::byte> message, std::byte* box) const {
    for_all(message.size(), [&](const Stretch& stretch) {
      if (stretch.bytes > 0)
        std::memcpy(box + stretch.at, message.data() + stretch.begin, stretch.bytes);
      std::memcpy(box + stretch.flag, &flag_, sizeof flag_);
    });
  }
  [[nodiscard]] std::vector<std::byte> read(const std::byte* box, std::uint64_t bytes) const {
    std::vector<std::byte> message(bytes);
    for_all(bytes, [&](const Stretch& stretch) {
      if (std::memcmp(box + stretch.flag, &flag_, sizeof flag_) != 0)
        fail(ErrorCode::internal, "a message is not in its mailbox",
             "it was not sent, or another one has been written over it");
      if (stretch.bytes > 0)
        std::memcpy(message.data() + stretch.begin, box + stretch.at, stretch.bytes);
    });
    return message;
  }

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
                    number * sizeof flag_});
  }
  [[nodiscard]] Stretch fitting(const Stretch& stretch) const {
    const bool is_parcel = of_.parcel != 0;
    const std::uint64_t flags = is_parcel ? kParcelFlags : of_.box;
    if (stretch.at + stretch.bytes > of_.box || stretch.flag + sizeof flag_ > flags)
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

  const MailParameters& of_;
  std::uint32_t flag_;
};

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
    const bool alternate = of_.root != kEveryRank;
    is_second_phase_ = alternate ? lap_ % 2 == 1 : lap_ >= laps;
    lap_bytes_ = of_.slots * of_.parcel;
    begin_ = (alternate ? lap_ / 2 : lap_ % laps) * lap_bytes_;
  }

  [[nodiscard]] bool is_second_phase() const { return is_second_phase_; }

  void send() const {
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) boxes().write(sent(to), box(to, of_.rank));
  }
  void reduce() const { reduce_at(memory_[1]); }
  void reduce_own_part() const {
    if (!is_collected(of_)) reduce_at(output(of_.rank));
    else if (of_.rank != of_.root) reduce_to(made());
  }
  // Every rank reduces all, of values in the others' mailboxes: a kernel of a GPU sends each line
  // of its result when it is there, but here all meet only once. The values that a rank would send
  // to itself have no place in a mailbox and are sent to all in place of its result.
  void send_to_be_shared() const {
    send();
    for (std::uint64_t to = 0; to < of_.ranks; ++to)
      if (to != of_.rank) boxes().write(sent(of_.rank), result_box(to, of_.rank));
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
      std::copy(message.begin(), message.end(), output(from) + begin_);
    }
  }
  // Of what the root has: its own part at each other rank, all parts at the root.
  void store_parts() const {
    for (std::uint64_t part = 0; part < of_.ranks; ++part) {
      if (part == of_.root || (of_.rank != of_.root && part != of_.rank)) continue;
      const std::span<const std::byte> own = sent(part);
      const std::vector<std::byte> message =
          of_.rank == of_.root ? std::vector(own.begin(), own.end()) : arrived(of_.root);
      std::copy(message.begin(), message.end(), output(part) + begin_);
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
    if (from != part) return boxes().read(box(part, from), bytes);
    if (part != of_.rank) return boxes().read(result_box(of_.rank, part), bytes);
    return {input(part), input(part) + bytes};
  }
  [[nodiscard]] std::byte* result_box(std::uint64_t at, std::uint64_t from) const {
    return box(at, from) + box_bytes(of_.bytes);
  }

  [[nodiscard]] BoxesOnHost boxes() const { return {of_, call_}; }
  [[nodiscard]] std::byte* mailbox(std::uint64_t rank) const { return memory_[2 + rank]; }
  [[nodiscard]] std::byte* box(std::uint64_t at, std::uint64_t from) const {
    return mailbox(at) + half_ + box_number(at, from) * of_.box;
  }
  [[nodiscard]] const std::byte* input(std::uint64_t to) const {
    return memory_[0] + part_number(of_, to) * of_.send_stride;
  }
  [[nodiscard]] std::byte* output(std::uint64_t of_rank) const {
    return memory_[1] + part_number(of_, of_rank) * of_.receive_stride;
  }
  // Where a lap of what the root collects lies: see parcels.cu.
  [[nodiscard]] std::byte* made() const {
    const std::uint64_t half = (call_ - (is_second_phase_ ? 1 : 0)) & 1;
    return mailbox(of_.rank) + kMailBoxes + half * (of_.ranks - 1) * of_.box +
           box_number(of_.rank, of_.root) * of_.box + kParcelFlags;
  }
  // The bytes that this rank sends to another one in the lap.
  [[nodiscard]] std::span<const std::byte> sent(std::uint64_t to) const {
    const std::uint64_t bytes = of_message(of_.rank, to);
    if (!is_second_phase_) return cut({input(to), bytes});
    if (!is_collected(of_) || bytes == 0) return cut({output(of_.rank), bytes});
    return {made(), in_lap(bytes)};
  }
  [[nodiscard]] std::vector<std::byte> arrived(std::uint64_t from) const {
    const std::span<const std::byte> own = sent(of_.rank);
    if (from == of_.rank) return {own.begin(), own.end()};
    return boxes().read(box(of_.rank, from), in_lap(of_message(from, of_.rank)));
  }
  void reduce_at(std::byte* result) const { reduce_to(result + begin_); }
  void reduce_to(std::byte* result) const {
    const auto value = [&](std::uint64_t from) { return arrived(from); };
    const std::vector<std::byte> sum = reduced(value, sent(of_.rank).size());
    std::copy(sum.begin(), sum.end(), result);
  }
  [[nodiscard]] std::uint64_t of_message(std::uint64_t from, std::uint64_t to) const {
    return is_second_phase_ ? shared_bytes(of_, from, to) : message_bytes(of_, from, to);
  }
  [[nodiscard]] std::uint64_t in_lap(std::uint64_t bytes) const {
    return std::min(bytes - std::min(bytes, begin_), lap_bytes_);
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

// In parcels: what comes of a lap of the first phase is stored in one of the second.
template <void (HostMail::*kFirst)() const>
void share_parcels(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const HostMail mail(memory, values);
  if (mail.is_second_phase()) mail.store();
  else (mail.*kFirst)();
  mail.finish();
}

}  // namespace

HostKernel mail_before_exchange(MailUse use, MailWay way) {
  return way == MailWay::lines && use == MailUse::reduce_and_share ? send_to_be_shared : send;
}

HostKernel mail_after_exchange(MailUse use, MailWay way) {
  switch (use) {
    case MailUse::reduce: return reduce;
    case MailUse::store: return store;
    case MailUse::reduce_and_share:
      return way == MailWay::lines ? reduce_and_share : share_parcels<&HostMail::reduce_own_part>;
    case MailUse::store_and_share: return share_parcels<&HostMail::store_parts>;
  }
  return {};
}

bool mail_has_arrived(const MailKind& kind, std::span<std::byte* const> memory,
                      std::span<const std::uint64_t> values) {
  const bool shares_lines = kind.use == MailUse::reduce_and_share && kind.way == MailWay::lines;
  return HostMail(memory, values).has_arrived(shares_lines);
}

bool mail_is_abandoned(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  return HostMail(memory, values).is_abandoned();
}

}  // namespace polypath
