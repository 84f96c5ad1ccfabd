#pragma once
// The stretch of each message that goes in one lap (mailbox_layout.h), on the host. Messages in
// lines go as a whole; those in parcels go in as many laps as they need, and what two phases send
// takes laps of its own. Internal to src/kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/mailbox_layout.h"

namespace polypath::kernels {

/// The parameters outlive it.
class HostLap {
 public:
  HostLap(const MailParameters& of, std::uint64_t number) : of_(of) {
    if (of.parcel == 0) return;
    const std::uint64_t laps = divided_up(parcels_of(of.bytes, of.parcel), of.slots);
    const bool alternate = of.root != kEveryRank;
    is_second_phase_ = alternate ? number % 2 == 1 : number >= laps;
    most_ = of.slots * of.parcel;
    begin_ = (alternate ? number / 2 : number % laps) * most_;
  }

  /// True if this lap shares what an earlier one has reduced.
  [[nodiscard]] bool is_second_phase() const { return is_second_phase_; }
  /// Where the stretch begins in a message.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// Bytes of the whole message of one rank to another one, or to itself.
  [[nodiscard]] std::uint64_t message(std::uint64_t from, std::uint64_t to) const {
    return is_second_phase_ ? shared_bytes(of_, from, to) : message_bytes(of_, from, to);
  }
  /// Bytes of its stretch.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t from, std::uint64_t to) const {
    return cut(message(from, to));
  }
  [[nodiscard]] std::span<const std::byte> stretch_of(std::span<const std::byte> message) const {
    return message.subspan(std::min<std::uint64_t>(begin_, message.size()), cut(message.size()));
  }

 private:
  [[nodiscard]] std::uint64_t cut(std::uint64_t message) const {
    return std::min(message - std::min(message, begin_), most_);
  }

  const MailParameters& of_;
  std::uint64_t begin_ = 0, most_ = ~std::uint64_t{0};  ///< bytes of a message
  bool is_second_phase_ = false;
};

}  // namespace polypath::kernels
