#include "nccl/announcement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "communicator/bootstrap/nodes.h"
#include "core/hash.h"

namespace polypath::nccl {
namespace {

std::string host_id() {
  const char* const named = std::getenv("NCCL_HOSTID");
  return named == nullptr ? "" : named;
}

// Ranks of one computer that are to be on several nodes do not find each other there.
std::string key_in_node(const std::string& key) {
  const std::string host = host_id();
  return host.empty() ? key : fmt::format("{}-{:016x}", key, Hash().add(host).value());
}

}  // namespace

std::string node_name() {
  const std::string host = host_id();
  return host.empty() ? this_node() : this_node() + " host:" + host;
}

Announcement::Announcement(const std::string& key, int number, bool joins,
                           const std::optional<BoardAddress>& board)
    : on_node_(key_in_node(key), number, joins) {
  if (board)
    on_board_ = std::make_shared<BoardPresence>(*board, key, number, RankPresence::said(joins));
}

bool Announcement::is_complete_on_nodes(int ranks) const {
  if (!on_board_) return false;
  const auto all = on_board_->said_by_all(ranks);
  return all && std::ranges::all_of(
                    *all, [](const auto& each) { return each == RankPresence::said(true); });
}

}  // namespace polypath::nccl
