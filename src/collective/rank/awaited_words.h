#pragma once
// The words in a rank's own memory that its GPU waits for: flags, and in each mailbox the word that
// ends its waits. To set them all ends what is queued, whether the other ranks do their parts or
// not. Internal to src/collective.

#include <mutex>
#include <vector>

#include "driver/driver.h"

namespace polypath::collective {

/// Thread-safe.
class AwaitedWords {
 public:
  /// The flags, of so many bytes, are at `place`; mailboxes are in the GPU's memory.
  AwaitedWords(Driver& driver, PlaceId gpu, Address flags, Bytes bytes, PlaceId place)
      : driver_(driver), gpu_(gpu), flags_(flags), bytes_(bytes), place_(place) {}

  [[nodiscard]] Address flags() const { return flags_; }
  [[nodiscard]] Bytes flag_bytes() const { return bytes_; }
  void add_mailbox(Address mailbox);
  /// Sets every one, for any producer, in no stream.
  void set_all();

 private:
  Driver& driver_;
  PlaceId gpu_;
  Address flags_;
  Bytes bytes_;
  PlaceId place_;
  std::mutex mutex_;  ///< of the next one
  std::vector<Address> mailboxes_;
};

}  // namespace polypath::collective
