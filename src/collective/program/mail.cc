#include "collective/program/mail.h"

#include <algorithm>

#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

// A line that crosses PCIe may arrive in parts.
bool is_nvlink(const Machine& machine, HopId hop) {
  if (machine.hop(hop).kind != HopKind::peer) return false;
  const auto& uses = machine.hop(hop).uses;
  return std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
    return machine.resource(use.resource).kind == "pcie";
  });
}

Bytes part_of(Bytes all, int ranks) { return {all.value / static_cast<std::uint64_t>(ranks)}; }

// Of messages to all ranks together. A mailbox has two halves of what n − 1 others send: those of
// the two ways take 34 and 64 MiB of a GPU, each (n − 1)/n times that, once a call needs it.
constexpr Bytes kLines = 16_MiB, kParcels = 32_MiB;

// Until messages to all other ranks are over.
Seconds mail_time(const Machine& machine, std::span<const PlaceId> ranks, Bytes message,
                  MailWay way) {
  const DriverBehaviour& driver = machine.driver;
  const bool in_lines = way == MailWay::lines;
  const double reached = in_lines ? driver.mail_efficiency : driver.parcel_efficiency;
  const auto hop = ranks.size() > 1 ? machine.find_hop(ranks[0], ranks[1]) : std::nullopt;
  const Seconds latency = in_lines ? driver.mail_latency : driver.parcel_latency;
  if (!hop) return latency;
  const auto others = static_cast<double>(ranks.size() - 1);
  return latency + Seconds{others * bytes_on_links(message, way).real() /
                           (reached * machine.hop(*hop).bandwidth.value)};
}

}  // namespace

Bytes line_room(int ranks) { return part_of(kLines, ranks); }

Bytes mail_box(int ranks, MailWay way) {
  const Bytes lines = line_room(ranks);
  if (way == MailWay::lines) return std::max(box_for(lines), box_for_sharing({lines.value / 2}));
  return box_for(part_of(kParcels, ranks), way);
}

bool can_share_in_lines(int ranks, Bytes message) { return message + message <= line_room(ranks); }

MailWay mail_way(const Machine& machine, std::span<const PlaceId> ranks, Bytes message) {
  if (message > line_room(static_cast<int>(ranks.size()))) return MailWay::parcels;
  const auto time = [&](MailWay way) { return mail_time(machine, ranks, message, way); };
  return time(MailWay::parcels) < time(MailWay::lines) ? MailWay::parcels : MailWay::lines;
}

bool can_mail(const Machine& machine, std::span<const PlaceId> ranks, Bytes message) {
  if (ranks.size() > kMostMailRanks || message > most_mailed(ranks.size())) return false;
  return std::all_of(ranks.begin(), ranks.end(), [&](PlaceId from) {
    return std::all_of(ranks.begin(), ranks.end(), [&](PlaceId to) {
      const auto hop = machine.find_hop(from, to);
      return from == to || (hop && is_nvlink(machine, *hop));
    });
  });
}

int first_mailbox_of(const Program& program) {
  const auto& buffers = program.buffers();
  return static_cast<int>(std::find_if(buffers.begin(), buffers.end(),
                                       [](const ProgramBuffer& each) { return each.is_mailbox; }) -
                          buffers.begin());
}

Bytes mailbox_bytes_of(const Program& program) {
  for (const Node& node : program.nodes())
    if (node.operation == Operation::kernel)
      for (const Access& access : program.call_of(node).memory)
        if (program.buffer(access.slice).is_mailbox) return access.bytes;
  return {};
}

Mailboxes::~Mailboxes() {
  for (const auto& [which, mailbox] : made_)
    ignore_errors([&, address = mailbox] { driver_.free(address); });
}

Address Mailboxes::of(PlaceId gpu, Bytes bytes) {
  const auto found = made_.find({gpu, bytes});
  if (found != made_.end()) return found->second;
  return made_[{gpu, bytes}] = driver_.allocate_zeros(gpu, bytes);
}

std::vector<Address> Mailboxes::addresses(const Program& program,
                                          std::span<const Address> callers) {
  std::vector<Address> all(callers.begin(), callers.end());
  const auto& buffers = program.buffers();
  for (std::size_t i = all.size(); i < buffers.size() && buffers[i].is_mailbox; ++i)
    all.push_back(of(buffers[i].place, mailbox_bytes_of(program)));
  return all;
}

}  // namespace polypath::collective
