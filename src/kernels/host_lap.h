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
    number_ = number;
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
  /// The same of what a rank sends: a message that is passed on comes to it lap by lap.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t sender) const {
    if (!is_passed_on(of_)) return begin_;
    const std::uint64_t place = place_of(of_, sender);
    return number_ < place ? of_.bytes : (number_ - place) * most_;
  }
  /// Bytes of the whole message of one rank to another one, or to itself.
  [[nodiscard]] std::uint64_t message(std::uint64_t from, std::uint64_t to) const {
    return is_second_phase_ ? shared_bytes(of_, from, to) : message_bytes(of_, from, to);
  }
  /// Bytes of its stretch.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t from, std::uint64_t to) const {
    return cut(message(from, to), begin_of(from));
  }
  [[nodiscard]] std::span<const std::byte> stretch_of(std::span<const std::byte> message,
                                                      std::uint64_t sender) const {
    const std::uint64_t begin = begin_of(sender);
    return message.subspan(std::min<std::uint64_t>(begin, message.size()),
                           cut(message.size(), begin));
  }

 private:
  [[nodiscard]] std::uint64_t cut(std::uint64_t message, std::uint64_t begin) const {
    return std::min(message - std::min(message, begin), most_);
  }

  const MailParameters& of_;
  std::uint64_t number_ = 0;
  std::uint64_t begin_ = 0, most_ = ~std::uint64_t{0};  ///< bytes of a message
  bool is_second_phase_ = false;
};

}  // namespace polypath::kernels
