#pragma once
// A message as a transport was asked for it. Internal to transports.

#include <cstddef>
#include <cstdint>
#include <span>

#include "communicator/transport/transport.h"

namespace polypath::communicator {

/// Sent from `given`, or received into `taken`.
struct AskedMessage {
  MessageNumber number = 0;
  int other = 0;
  std::uint32_t tag = 0;
  bool is_sent = false;
  std::span<const std::byte> given = {};
  std::span<std::byte> taken = {};

  [[nodiscard]] std::size_t size() const { return is_sent ? given.size() : taken.size(); }
};

}  // namespace polypath::communicator
