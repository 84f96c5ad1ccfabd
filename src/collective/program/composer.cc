#include "collective/program/composer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "collective/program/collective_kernels.h"
#include "collective/program/mail.h"
#include "collective/program/routes.h"
#include "core/error.h"
#include "kernels/reduce.h"

namespace polypath {
namespace {

// The bytes of each path; the first path has the rest.
std::vector<Bytes> divided(Bytes bytes, const std::vector<PathShare>& shares) {
  constexpr std::uint64_t kAlignment = 256;
  std::vector<Bytes> parts = {bytes};
  for (std::size_t path = 1; path < shares.size(); ++path) {
    const auto wanted = static_cast<std::uint64_t>(bytes.real() * shares[path].share);
    parts.push_back({wanted / kAlignment * kAlignment});
    parts.front() -= parts.back();
  }
  return parts;
}

bool is_average(const Reduction& reduction) {
  return reduction.operation == ReduceOperator::average;
}

// A rank that gives or gets nothing may have no memory for it.
Access access(Slice slice, Bytes bytes, bool writes) {
  if (bytes.value == 0) slice.offset = {};
  return {.slice = slice, .bytes = bytes, .writes = writes};
}

}  // namespace

Composer::Composer(const Machine& machine, const CollectiveRequest& request, const Tuning& tuning,
                   Routes* routes)
    : machine_(machine), request_(request), tuning_(tuning), routes_(routes) {
  for (const PlaceId rank : request.ranks) program_.add(ProgramBuffer{rank});
  if (request.in_place) return;
  for (const PlaceId rank : request.ranks) program_.add(ProgramBuffer{rank});
}

Slice Composer::input(int rank, Bytes offset) const {
  const bool within = request_.in_place && request_.collective == Collective::all_gather;
  return {rank, within ? offset + request_.start_of(rank) : offset};
}

Slice Composer::output(int rank, Bytes offset) const {
  if (!request_.in_place) return {ranks() + rank, offset};
  const bool within = request_.collective == Collective::reduce_scatter;
  return {rank, within ? offset + request_.start_of(rank) : offset};
}

Slice Composer::slot(int from, int to, Bytes bytes) {
  if (bytes.value == 0) return {};
  return slot(*machine_.find_hop(gpu(from), gpu(to)), false);
}

Slice Composer::host_slot(int rank) {
  return slot(*machine_.find_hop(gpu(rank), machine_.nearest_host(gpu(rank))), false);
}

Slice Composer::arrival_slot(int rank) {
  return slot(*machine_.find_hop(machine_.nearest_host(gpu(rank)), gpu(rank)), false);
}

Slice Composer::slot(HopId filled_over, bool of_a_path) {
  Slots& slots = slots_[{filled_over, of_a_path}];
  const int first = of_a_path ? kPieceSlots : 0, most = of_a_path ? kStagingSlots : kPieceSlots;
  const std::size_t next = slots.next++ % static_cast<std::size_t>(most);
  if (next == slots.buffers.size())
    slots.buffers.push_back(program_.add(ProgramBuffer{
        machine_.hop(filled_over).destination, filled_over, first + static_cast<int>(next)}));
  return {slots.buffers[next], {}};
}

Part Composer::part(int number, int count) const {
  return part_of({{}, request_.part()}, number, count, request_.element());
}

int Composer::pieces(Bytes most) {
  return pieces_ = pieces_of(most, tuning_.piece, request_.element());
}

Part Composer::piece(const Part& part, int number, int pieces) const {
  return part_of(part, number, pieces, request_.element());
}

int Composer::queue(const Queue& queue) {
  const auto [found, is_new] = queues_.try_emplace(queue, -1);
  if (is_new) found->second = program_.add(queue);
  return found->second;
}

Queue Composer::queue_over(HopId hop) {
  const Queue own = queue_of(machine_, hop);
  if (!tuning_.in_turn || machine_.hop(hop).kind != HopKind::peer) return own;
  return in_turn_.try_emplace(own.gpu, own).first->second;
}

void Composer::add(Node node) {
  const std::array uses = {
      MemoryUse{.slice = node.source, .bytes = node.bytes},
      MemoryUse{.slice = node.destination, .bytes = node.bytes, .writes = true}};
  std::vector<int> after = dependences_.add(node.queue, uses);
  take_turn(node, after);
  program_.add(node, after);
}

// The next GPU to send to one awaits the one before: ranks that are out of step would stay so, and
// send to one at the same time in each turn.
void Composer::take_turn(const Node& node, std::vector<int>& after) {
  if (!tuning_.in_turn || !node.hop.valid() || machine_.hop(node.hop).kind != HopKind::peer) return;
  const Hop& hop = machine_.hop(node.hop);
  Turn& turn = turns_[hop.destination];
  const bool is_next = turn.last >= 0 && turn.from != hop.source;
  if (is_next && std::ranges::find(after, turn.last) == after.end()) after.push_back(turn.last);
  turn = {hop.source, static_cast<int>(program_.nodes().size())};
}

// Copies are made by the GPU that they leave, and from the host by the GPU that they go to.
bool Composer::is_reached(HopId hop, const Slice& to) const {
  return !tuning_.private_memory || !hop.valid() || program_.buffer(to).is_scratch() ||
         machine_.executing_gpu(hop) == place_of(to);
}

void Composer::add_copy_by_hosts(HopId hop, Slice from, Slice to, Bytes bytes) {
  auto known = network_paths_.find(hop);
  if (known == network_paths_.end())
    known = network_paths_.emplace(hop, *find_network_path(machine_, machine_.hop(hop))).first;
  const auto& [out, over, in] = known->second;
  const Slice here = slot(out, true), there = slot(over, true);
  add_copy(out, from, here, bytes);
  add_copy(over, here, there, bytes);
  add_copy(in, there, to, bytes);
}

void Composer::add_copy(HopId hop, Slice from, Slice to, Bytes bytes) {
  if (hop.valid() && machine_.hop(hop).kind == HopKind::network_staged)
    return add_copy_by_hosts(hop, from, to, bytes);
  if (!is_reached(hop, to)) {
    const Slice arrived = slot(hop, false);
    add_copy(hop, from, arrived, bytes);
    return add_copy({}, arrived, to, bytes);
  }
  Node node;
  node.hop = hop;
  node.source = from, node.destination = to, node.bytes = bytes;
  node.queue = queue(hop.valid() ? queue_over(hop) : Queue{{}, place_of(to)});
  if (is_average(request_.reduction)) counts_.copy(from, to, bytes);
  add(node);
}

void Composer::copy(Slice from, Slice to, Bytes bytes) {
  if (bytes.value == 0 || (from.buffer == to.buffer && from.offset == to.offset)) return;
  const PlaceId source = place_of(from), destination = place_of(to);
  add_copy(source == destination ? HopId{} : *machine_.find_hop(source, destination), from, to,
           bytes);
}

void Composer::reduce(Slice into, Slice from, Bytes bytes) {
  if (bytes.value == 0) return;
  Node node;
  node.operation = Operation::reduce;
  node.reduction = request_.reduction;
  if (is_average(request_.reduction)) {
    Reduction& reduction = node.reduction;
    reduction.values = averaged();
    reduction.into = counts_.at(into, bytes), reduction.from = counts_.at(from, bytes);
    counts_.set(into, bytes, reduction.into + reduction.from);
  }
  node.source = from, node.destination = into, node.bytes = bytes;
  node.queue = queue(Queue{{}, place_of(into)});
  add(node);
}

void Composer::reduce(Slice result, std::span<const Slice> operands, Bytes bytes) {
  if (bytes.value == 0) return;
  Reduction reduction = request_.reduction;
  reduction.values = averaged();
  const PlaceId gpu = place_of(result);
  KernelCall call{.kernel = reduce_kernel_number(gpu),
                  .gpu = gpu,
                  .memory = {{.slice = result, .bytes = bytes, .writes = true}},
                  .shape = reduce_shape(bytes),
                  .duration = machine_.reduction_time(gpu, bytes, operands.size()),
                  .reduces = true};
  std::vector<int> values_of;
  for (const Slice& operand : operands) {
    call.memory.push_back({.slice = operand, .bytes = bytes});
    values_of.push_back(is_average(request_.reduction) ? counts_.at(operand, bytes) : 1);
  }
  if (is_average(request_.reduction))
    counts_.set(result, bytes, std::accumulate(values_of.begin(), values_of.end(), 0));
  call.values = reduce_values(reduction, bytes, values_of);
  run(std::move(call));
}

void Composer::send(std::vector<Message> messages) {
  std::erase_if(messages, [](const Message& message) { return message.bytes.value == 0; });
  if (messages.empty()) return;
  if (tuning_.several_paths) return send_split(messages);
  for (const Message& message : messages) copy(message.from, message.to, message.bytes);
}

// All pieces of a message go the same way, so the paths are those of the whole of it, and the
// chunks of a path are divided among the pieces.
std::vector<Composer::Way> Composer::ways_of(std::span<const Message> messages) const {
  std::vector<JointTransfer> transfers;
  for (const Message& message : messages)
    transfers.push_back({place_of(message.from), place_of(message.to),
                         message.bytes * static_cast<std::uint64_t>(pieces_)});
  const auto shares = routes_->of(std::move(transfers), tuning_.by_joint_plan);
  std::vector<Way> ways;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::vector<Bytes> parts = divided(messages[i].bytes, shares[i]);
    Message rest = messages[i];
    for (std::size_t path = 0; path < parts.size(); ++path) {
      rest.bytes = parts[path];
      const int chunks = (shares[i][path].chunks + pieces_ - 1) / pieces_;
      if (rest.bytes.value > 0) ways.push_back({shares[i][path].path, rest, chunks});
      rest.from.offset += rest.bytes, rest.to.offset += rest.bytes;
    }
  }
  return ways;
}

// Chunk by chunk, the first copies of all ways and then their second ones, as in transfers.
void Composer::send_split(std::span<const Message> messages) {
  const std::vector<Way> ways = ways_of(messages);
  int rounds = 0;
  for (const Way& way : ways) rounds = std::max(rounds, way.chunks);
  for (int chunk = 0; chunk < rounds; ++chunk) {
    std::vector<SecondCopy> second;
    for (const Way& way : ways)
      if (chunk < way.chunks) send_chunk(way, chunk, second);
    for (const SecondCopy& copy : second) add_copy(copy);
  }
}

// The remaining copies go into `second`.
void Composer::send_chunk(const Way& way, int chunk, std::vector<SecondCopy>& second) {
  const auto& [from, to, bytes] = way.message;
  const Part part = part_of({{}, bytes}, chunk, way.chunks, 1_B);
  if (part.bytes.value == 0) return;
  const Slice source{from.buffer, from.offset + part.offset};
  const Slice target{to.buffer, to.offset + part.offset};
  if (!way.path.staged()) return add_copy(way.path.first, source, target, part.bytes);
  empty_slots(way.path.first, second);
  const Slice slot = this->slot(way.path.first, true);
  add_copy(way.path.first, source, slot, part.bytes);
  second.push_back({way.path, {slot, target, part.bytes}});
}

// Several ways may begin with one hop: before its slots are filled again, their contents are sent
// on.
void Composer::empty_slots(HopId first, std::vector<SecondCopy>& second) {
  const auto waits = [&](const SecondCopy& copy) { return copy.path.first == first; };
  if (std::ranges::count_if(second, waits) < kStagingSlots) return;
  for (const SecondCopy& copy : second)
    if (waits(copy)) add_copy(copy);
  std::erase_if(second, waits);
}

void Composer::add_copy(const SecondCopy& copy) {
  add_copy(copy.path.second, copy.message.from, copy.message.to, copy.message.bytes);
}

// The mailboxes of all ranks, the same ones for all that a program exchanges.
int Composer::first_mailbox() {
  if (!first_mailbox_)
    for (const PlaceId rank : request_.ranks) {
      const int added = program_.add(ProgramBuffer{.place = rank, .is_mailbox = true});
      if (!first_mailbox_) first_mailbox_ = added;
    }
  return *first_mailbox_;
}

void Composer::run(KernelCall call) {
  std::vector<MemoryUse> uses;
  for (const Access& access : call.memory)
    uses.push_back({.slice = access.slice, .bytes = access.bytes, .writes = access.writes});
  const int queue = this->queue(Queue{{}, call.gpu});
  const std::vector<int> after = dependences_.add(queue, uses);
  program_.add(std::move(call), queue, after);
}

// Messages over a hop are slower than the usual reads and writes of kernels there: more bytes are
// modelled, by this factor.
KernelCall Composer::mail_of(int rank, const Mail& mail, Slice from, Slice to) const {
  const DriverBehaviour& driver = machine_.driver;
  const PlaceId gpu = request_.ranks[static_cast<std::size_t>(rank)];
  Reduction reduction = request_.reduction;
  reduction.values = averaged();
  const MailCall part{.mail = mail,
                      .reduction = reduction,
                      .rank = rank,
                      .ranks = ranks(),
                      .box = mail_box(ranks(), mail.way),
                      .multiprocessors = tuning_.multiprocessors};
  const bool in_lines = mail.way == MailWay::lines;
  KernelCall call{
      .kernel = mail_kernel_number(gpu, mail.use, mail.way),
      .gpu = gpu,
      .memory = {access(from, bytes_read(part), false), access(to, bytes_written(part), true)},
      .values = mail_values(part),
      .shape = mail_shape(part),
      .duration = in_lines ? driver.mail_latency : driver.parcel_latency};
  const bool shares = mail.use == MailUse::reduce_and_share;
  if (shares) call.duration += in_lines ? driver.mail_share_latency : driver.parcel_latency;
  const auto all = static_cast<std::uint64_t>(ranks());
  for (int other = 0; other < ranks(); ++other) {
    const Bytes sent = message_bytes(part, rank, other);
    double moved = other == rank ? 0 : bytes_on_links(sent, mail.way).real();
    if (shares && other != rank)
      moved += bytes_on_links(message_bytes(part, rank, rank), mail.way).real();
    const double reached = in_lines ? driver.mail_efficiency : driver.parcel_efficiency;
    const double slower = driver.kernel_efficiency / reached;
    call.memory.push_back({.slice = {*first_mailbox_ + other, {}},
                           .bytes = {mailbox_bytes(all, part.box.value)},
                           .writes = true,
                           .moved = Bytes{static_cast<std::uint64_t>(moved * slower)}});
  }
  call.group = KernelGroup{
      .number = groups_, .rank = rank, .ranks = ranks(), .mailboxes = 2, .laps = laps_of(part)};
  return call;
}

void Composer::exchange(const Mail& mail, const SliceOfRank& from, const SliceOfRank& to) {
  (void)first_mailbox();
  const Part whole{{}, mail.message};
  const bool shares_in_lines =
      mail.use == MailUse::reduce_and_share && can_share_in_lines(ranks(), whole.bytes);
  const MailWay way =
      shares_in_lines ? MailWay::lines : mail_way(machine_, request_.ranks, whole.bytes);
  const Bytes most = way == MailWay::lines ? line_room(ranks()) : whole.bytes;
  const int count = pieces_of(whole.bytes, most, request_.element());
  for (int number = 0; number < count; ++number, ++groups_) {
    const Part piece = this->piece(whole, number, count);
    Mail sent = mail;
    sent.way = way;
    sent.message = piece.bytes;
    sent.end = mail.end - std::min(mail.end, piece.offset);
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto [begin, target] = std::pair(from(rank), to(rank));
      program_.add(mail_of(rank, sent, {begin.buffer, begin.offset + piece.offset},
                           {target.buffer, target.offset + piece.offset}),
                   queue(Queue{{}, request_.ranks[static_cast<std::size_t>(rank)]}));
    }
  }
}

Packing Composer::pack(const PackingRequest& request) const {
  return routes_ != nullptr ? routes_->packings().of(request) : pack_trees(machine_, request);
}

Program Composer::build() && {
  program_.assign_events();
  return std::move(program_);
}

void pipeline(int pieces, std::span<const std::function<void(int piece)>> steps) {
  const int count = static_cast<int>(steps.size());
  for (int time = 0; time < pieces + count - 1; ++time)
    for (int step = 0; step < count; ++step)
      if (const int piece = time - step; piece >= 0 && piece < pieces)
        steps[static_cast<std::size_t>(step)](piece);
}

}  // namespace polypath
