#include "nccl/board_in_id.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "communicator/transport/own_addresses.h"
#include "core/ignore_errors.h"

namespace polypath::nccl {
namespace {

constexpr std::uint32_t kMagic = 0x70706231;  // "ppb1"
constexpr std::uint8_t kShort = 4, kLong = 16;

/// The last bytes of an id. NCCL uses 48 of the first ones.
struct Tail {
  std::uint32_t magic = kMagic;
  std::uint16_t port = 0;
  std::uint8_t length = kShort;  ///< of the address
  std::uint8_t unused = 0;
  std::uint64_t token = 0;
  std::array<std::uint8_t, kLong> address{127, 0, 0, 1};
};
static_assert(sizeof(Tail) == 32);

struct Board {
  std::uint64_t token;
  PresenceBoard board;
};

std::uint64_t random_number() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

// Never destroyed: its communicators may be divided until the process ends.
const Board& board_of_process() {
  static const std::uint64_t token = random_number();
  static const auto* const board = new Board{token, PresenceBoard(token)};
  return *board;
}

// The address where NCCL's own ranks meet, which all of them reach: a sockaddr behind a number of 8
// bytes. Believed only if it is one of this computer's.
std::optional<OwnAddress> address_of_nccl(const UniqueId& id, const std::vector<OwnAddress>& own) {
  sockaddr_in6 there{};
  std::memcpy(&there, id.internal.data() + sizeof(std::uint64_t), sizeof there);
  OwnAddress address;
  if (there.sin6_family == AF_INET) {
    sockaddr_in shorter{};
    std::memcpy(&shorter, &there, sizeof shorter);
    address.length = kShort;
    std::memcpy(address.bytes.data(), &shorter.sin_addr, kShort);
  } else if (there.sin6_family == AF_INET6) {
    address.length = kLong;
    std::memcpy(address.bytes.data(), &there.sin6_addr, kLong);
  }
  const bool is_own = std::ranges::any_of(own, [&](const OwnAddress& each) {
    return each.length == address.length && each.bytes == address.bytes;
  });
  return is_own ? std::optional(address) : std::nullopt;
}

Tail tail_for(const UniqueId& id, const Board& board) {
  const std::vector<OwnAddress> own = own_addresses();
  Tail tail{.port = static_cast<std::uint16_t>(std::stoi(board.board.port())),
            .token = board.token};
  auto address = address_of_nccl(id, own);
  if (!address && !own.empty()) address = own.front();
  if (address) tail.length = address->length, tail.address = address->bytes;
  return tail;
}

}  // namespace

void put_board(UniqueId& id) noexcept {
  auto* const end = id.internal.data() + id.internal.size() - sizeof(Tail);
  const bool is_empty = std::all_of(end, end + sizeof(Tail), [](char byte) { return byte == 0; });
  if (!is_empty || std::getenv("NCCL_COMM_ID") != nullptr) return;
  ignore_errors([&] {
    const Tail tail = tail_for(id, board_of_process());
    std::memcpy(end, &tail, sizeof tail);
  });
}

std::optional<BoardAddress> board_in(std::string_view id) {
  if (id.size() < sizeof(UniqueId)) return std::nullopt;
  Tail tail;
  std::memcpy(&tail, id.data() + sizeof(UniqueId) - sizeof tail, sizeof tail);
  if (tail.magic != kMagic || (tail.length != kShort && tail.length != kLong)) return std::nullopt;
  OwnAddress address;
  address.length = tail.length, address.bytes = tail.address;
  return BoardAddress{{address.host(), std::to_string(tail.port)}, tail.token};
}

}  // namespace polypath::nccl
