#pragma once
// All ranks' mailboxes (mailbox_layout.h), as a call of one rank reads and writes them on the host:
// laid out as GPUs do it. No rank reads while it is written: all that is received in a call has
// been sent, and a flag that is not there is a mistake. Internal to src/kernels.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mailbox_layout.h"

namespace polypath::kernels {

/// The parameters and the memories outlive it.
class HostMailboxes {
 public:
  /// `mailboxes` has each rank's. The call is the next one of this rank.
  HostMailboxes(const MailParameters& of, std::span<std::byte* const> mailboxes);

  /// Writes a message of rank `from` into its box at rank `at`.
  void write(std::uint64_t at, std::uint64_t from, std::span<const std::byte> message) const;
  /// The message of so many bytes that is there. Error (internal) if it has not arrived.
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t at, std::uint64_t from,
                                            std::uint64_t bytes) const;
  /// The same of a second message, of what the sender keeps for its own result; it lies behind the
  /// first one.
  void write_own(std::uint64_t at, std::uint64_t from, std::span<const std::byte> message) const;
  [[nodiscard]] std::vector<std::byte> read_own(std::uint64_t at, std::uint64_t from,
                                                std::uint64_t bytes) const;
  /// Where this rank keeps what it has reduced for the root, until the lap of the second phase
  /// sends it (parcels.cu).
  [[nodiscard]] std::byte* kept_for_root(bool is_second_phase) const;
  /// True if kernels must not wait any more.
  [[nodiscard]] bool is_abandoned() const;
  /// Counts the call.
  void finish() const;

 private:
  [[nodiscard]] std::byte* box(std::uint64_t at, std::uint64_t from, std::uint32_t call) const;
  [[nodiscard]] std::byte* own_box(std::uint64_t at, std::uint64_t from) const;
  [[nodiscard]] std::byte* own() const { return mailboxes_[of_.rank]; }

  const MailParameters& of_;
  std::span<std::byte* const> mailboxes_;
  std::uint32_t call_ = 0;  ///< its flags have this number
};

}  // namespace polypath::kernels
