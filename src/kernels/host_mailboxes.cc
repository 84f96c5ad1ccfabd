#include "kernels/host_mailboxes.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace polypath::kernels {
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

}  // namespace

HostMailboxes::HostMailboxes(const MailParameters& of, std::span<std::byte* const> mailboxes)
    : of_(of), mailboxes_(mailboxes) {
  std::memcpy(&call_, own() + kMailCalls, sizeof call_);
  ++call_;
}

std::byte* HostMailboxes::box(std::uint64_t at, std::uint64_t from, std::uint32_t call) const {
  const std::uint64_t half = (call & 1) * (of_.ranks - 1) * of_.box;
  return mailboxes_[at] + kMailBoxes + half + box_number(at, from) * of_.box;
}

std::byte* HostMailboxes::own_box(std::uint64_t at, std::uint64_t from) const {
  return box(at, from, call_) + box_bytes(of_.bytes);
}

void HostMailboxes::write(std::uint64_t at, std::uint64_t from,
                          std::span<const std::byte> message) const {
  BoxesOnHost(of_, call_).write(message, box(at, from, call_));
}

std::vector<std::byte> HostMailboxes::read(std::uint64_t at, std::uint64_t from,
                                           std::uint64_t bytes) const {
  return BoxesOnHost(of_, call_).read(box(at, from, call_), bytes);
}

void HostMailboxes::write_own(std::uint64_t at, std::uint64_t from,
                              std::span<const std::byte> message) const {
  BoxesOnHost(of_, call_).write(message, own_box(at, from));
}

std::vector<std::byte> HostMailboxes::read_own(std::uint64_t at, std::uint64_t from,
                                               std::uint64_t bytes) const {
  return BoxesOnHost(of_, call_).read(own_box(at, from), bytes);
}

std::byte* HostMailboxes::kept_for_root(bool is_second_phase) const {
  return box(of_.rank, of_.root, call_ - (is_second_phase ? 1 : 0)) + kParcelFlags;
}

bool HostMailboxes::is_abandoned() const {
  std::uint32_t word = 0;
  std::memcpy(&word, own() + kMailAbandoned, sizeof word);
  return word != 0;
}

void HostMailboxes::finish() const { std::memcpy(own() + kMailCalls, &call_, sizeof call_); }

}  // namespace polypath::kernels
