#include "communicator/transport/transport.h"

#include <fmt/format.h>

#include "communicator/bootstrap/deadline.h"
#include "core/error.h"

namespace polypath::communicator {

Transport::Transport(int rank, int size) : rank_(rank), size_(size) { check_rank(rank, size); }

void Transport::name_nodes(const Nodes& nodes) {
  for (int rank = 0; rank < size_; ++rank) nodes_.push_back(nodes.name(nodes.of(rank)));
}

std::string Transport::describe(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < nodes_.size() ? fmt::format("rank {} on {}", rank, nodes_[at])
                            : fmt::format("rank {}", rank);
}

std::string Transport::describe_part(int other, bool is_sent, std::uint64_t bytes,
                                     std::uint32_t tag) const {
  return fmt::format("{} to {} {} bytes with tag {}", describe(other), is_sent ? "receive" : "send",
                     bytes, tag);
}

void Transport::check_other(int other) const {
  if (other >= 0 && other < size_ && other != rank_) return;
  fail(ErrorCode::invalid_argument, fmt::format("rank {} has no message for rank {}", rank_, other),
       other == rank_ ? "that is itself" : fmt::format("there are ranks 0 to {}", size_ - 1),
       "Name another rank.");
}

MessageNumber Transport::send(int to, std::uint32_t tag, std::span<const std::byte> bytes) {
  check_other(to);
  return start_sending(to, tag, bytes);
}

MessageNumber Transport::receive(int from, std::uint32_t tag, std::span<std::byte> bytes) {
  check_other(from);
  return start_receiving(from, tag, bytes);
}

void Transport::wait(MessageNumber message, Seconds timeout) {
  const Deadline deadline(timeout);
  while (!test(message)) {
    if (deadline.has_passed())
      fail(ErrorCode::communicator,
           fmt::format("rank {} timed out waiting for {}", rank(), awaited(message)),
           fmt::format("{:.3g} s have passed", timeout.value),
           "Look at what that rank does, or give it more time (POLYPATH_COMMUNICATOR_TIMEOUT).");
    pause();
  }
}

}  // namespace polypath::communicator
