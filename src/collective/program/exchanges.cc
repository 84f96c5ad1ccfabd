#include "collective/program/exchanges.h"

#include <algorithm>
#include <utility>

#include "collective/program/collective_kernels.h"
#include "collective/program/mail.h"
#include "collective/program/parts.h"
#include "collective/program/value_counts.h"

namespace polypath::collective {
namespace {

// A rank that gives or gets nothing may have no memory for it.
Access access(Slice slice, Bytes bytes, bool writes) {
  if (bytes.value == 0) slice.offset = {};
  return {.slice = slice, .bytes = bytes, .writes = writes};
}

// To or from a root one parcel of each block goes before anything goes between the other ranks, or
// after that. What is passed on comes to the last rank some laps later than to the first one.
double until_all_links_are_busy(const MailCall& call) {
  if (call.mail.use == MailUse::pass_on) {
    const double laps = laps_of(call);
    return laps / (laps - (call.ranks - 2));
  }
  if (!call.mail.root) return 1;
  const int parcels = parcels_in_turn(call);
  return (parcels + 1.0) / parcels;
}

}  // namespace

// The same ones for all that a program exchanges.
void Exchanges::add_mailboxes() {
  if (first_mailbox_) return;
  for (const PlaceId rank : request_.ranks) {
    const int added = program_.add(ProgramBuffer{.place = rank, .is_mailbox = true});
    if (!first_mailbox_) first_mailbox_ = added;
  }
}

// Messages over a hop are slower than the usual reads and writes of kernels there: more bytes are
// modelled, by this factor.
KernelCall Exchanges::kernel_of(int rank, const Mail& mail, Slice from, Slice to) const {
  const DriverBehaviour& driver = machine_.driver;
  const PlaceId gpu = request_.ranks[static_cast<std::size_t>(rank)];
  Reduction reduction = request_.reduction;
  reduction.values = averaged(request_);
  const MailCall part{.mail = mail,
                      .reduction = reduction,
                      .rank = rank,
                      .ranks = request_.size(),
                      .box = mail_box(request_.size(), mail.way),
                      .multiprocessors = tuning_.multiprocessors};
  const bool in_lines = mail.way == MailWay::lines;
  KernelCall call{
      .kernel = mail_kernel_number(gpu, mail.use, mail.way),
      .gpu = gpu,
      .memory = {access(from, bytes_read(part), false), access(to, bytes_written(part), true)},
      .values = mail_values(part),
      .shape = mail_shape(part),
      .duration = in_lines ? driver.mail_latency : driver.parcel_latency};
  const bool shares = has_second_phase(mail.use);
  // What is passed on has a latency at each rank that it passes.
  if (mail.use == MailUse::pass_on) call.duration += driver.parcel_latency * (request_.size() - 2);
  if (shares) call.duration += in_lines ? driver.mail_share_latency : driver.parcel_latency;
  const double longer = until_all_links_are_busy(part);
  const auto all = static_cast<std::uint64_t>(request_.size());
  for (int other = 0; other < request_.size(); ++other) {
    const Bytes sent = message_bytes(part, rank, other);
    double moved = other == rank ? 0 : bytes_on_links(sent, mail.way).real();
    if (shares && other != rank)
      moved += bytes_on_links(shared_bytes(part, rank, other), mail.way).real();
    const double reached = in_lines ? driver.mail_efficiency : driver.parcel_efficiency;
    const double slower = driver.kernel_efficiency / reached;
    call.memory.push_back({.slice = {*first_mailbox_ + other, {}},
                           .bytes = {mailbox_bytes(all, part.box.value)},
                           .writes = true,
                           .moved = Bytes{static_cast<std::uint64_t>(moved * slower * longer)}});
  }
  call.group = KernelGroup{.number = groups_,
                           .rank = rank,
                           .ranks = request_.size(),
                           .mailboxes = 2,
                           .laps = laps_of(part)};
  return call;
}

MailWay Exchanges::way_of(const Mail& mail) const {
  if (mail.root || mail.use == MailUse::pass_on) return MailWay::parcels;
  if (mail.use == MailUse::reduce_and_share && can_share_in_lines(request_.size(), mail.message))
    return MailWay::lines;
  return mail_way(machine_, request_.ranks, mail.message);
}

std::vector<KernelCall> Exchanges::calls_for(const Mail& mail, const SliceOfRank& from,
                                             const SliceOfRank& to) {
  add_mailboxes();
  const Part whole{{}, mail.message};
  const MailWay way = way_of(mail);
  const Bytes most = way == MailWay::lines ? line_room(request_.size()) : whole.bytes;
  const int count = pieces_of(whole.bytes, most, request_.element());
  std::vector<KernelCall> calls;
  for (int number = 0; number < count; ++number, ++groups_) {
    const Part piece = part_of(whole, number, count, request_.element());
    Mail sent = mail;
    sent.way = way;
    sent.message = piece.bytes;
    sent.end = mail.end - std::min(mail.end, piece.offset);
    for (int rank = 0; rank < request_.size(); ++rank) {
      const auto [begin, target] = std::pair(from(rank), to(rank));
      calls.push_back(kernel_of(rank, sent, {begin.buffer, begin.offset + piece.offset},
                                {target.buffer, target.offset + piece.offset}));
    }
  }
  return calls;
}

}  // namespace polypath::collective
