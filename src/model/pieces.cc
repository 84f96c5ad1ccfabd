#include "model/pieces.h"

#include <algorithm>
#include <limits>

namespace polypath::model {
namespace {

Bytes aligned(Bytes bytes) {
  const std::uint64_t unit = kPieceAlignment.value;
  return {(bytes.value + unit - 1) / unit * unit};
}

class Dealer {
 public:
  Dealer(std::span<const Bytes> sizes, const PieceSplit& split)
      : sizes_(sizes), split_(split), given_(split.paths.size(), 0) {
    for (std::size_t piece = 0; piece < sizes.size(); ++piece) total_ += weight(piece);
  }

  std::vector<PieceBatch> deal() {
    std::vector<PieceBatch> batches;
    for (std::size_t piece = 0; piece < sizes_.size(); piece += batches.back().count)
      batches.push_back(batch_for(next_path(piece), piece));
    return batches;
  }

 private:
  [[nodiscard]] double weight(std::size_t piece) const {
    return (sizes_[piece] + split_.latency).real();
  }

  // So that the last piece of a path lies across the end of its share by half at most.
  [[nodiscard]] bool takes(std::size_t path, std::size_t piece) const {
    if (!split_.paths[path].staged()) return true;
    return sizes_[piece] <= split_.slot &&
           given_[path] + weight(piece) / 2 <= split_.shares[path] * total_;
  }

  [[nodiscard]] double served(std::size_t path) const {
    if (split_.shares[path] > 0) return given_[path] / split_.shares[path];
    return std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] std::size_t next_path(std::size_t piece) const {
    std::size_t next = 0;
    for (std::size_t path = 1; path < split_.paths.size(); ++path)
      if (takes(path, piece) && served(path) < served(next)) next = path;
    return next;
  }

  PieceBatch batch_for(std::size_t path, std::size_t first) {
    PieceBatch batch{path, first, 0};
    const Bytes most = std::min(split_.chunk, split_.slot);
    Bytes used;
    for (std::size_t piece = first; piece < sizes_.size() && takes(path, piece); ++piece) {
      if (batch.count > 0 && (!split_.paths[path].staged() || used + sizes_[piece] > most)) break;
      used += aligned(sizes_[piece]);
      given_[path] += weight(piece);
      ++batch.count;
    }
    return batch;
  }

  std::span<const Bytes> sizes_;
  const PieceSplit& split_;
  std::vector<double> given_;  // weight, by path
  double total_ = 0;
};

/// One staged path while its copies are laid out.
struct Lane {
  int first = Program::kCallersQueue, second = -1;  // queues
  int slot = -1;                                    // the buffer of slot 0; the others follow
  std::size_t slots = 1;
  int chunks = 0;            // so far
  Slice staged;              // where the next piece of this chunk is
  int arrived = -1;          // the last copy of this chunk into its slot
  std::vector<int> emptied;  // by chunk, its last copy out of it
};

/// One copy of a batch.
struct Step {
  const PieceBatch* batch;
  std::size_t piece;
  bool into_slot = false;

  [[nodiscard]] bool is_first() const { return piece == batch->first; }
  [[nodiscard]] bool is_last() const { return piece + 1 == batch->first + batch->count; }
};

class PiecesBuilder {
 public:
  PiecesBuilder(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                int slots)
      : machine_(machine), sizes_(sizes), dealt_(dealt) {
    const Path& path = dealt.paths.front();
    const HopId last = path.staged() ? path.second : path.first;
    for (std::size_t piece = 0; piece < sizes.size(); ++piece) {
      program_.add(ProgramBuffer{machine.hop(path.first).source});
      program_.add(ProgramBuffer{machine.hop(last).destination});
    }
    program_.reserve(2 * sizes.size());
    for (std::size_t number = 0; number < dealt.paths.size(); ++number)
      lanes_.push_back(lane_of(number, slots));
  }

  // The direct copies lie evenly among the others: a chunk's calls take longer than one of them.
  Program build() {
    list_steps();
    std::size_t direct = 0, staged = 0;
    while (direct < direct_.size() || staged < staged_.size()) {
      const bool is_direct = (direct + 1) * staged_.size() <= (staged + 1) * direct_.size();
      if (staged == staged_.size() || (direct < direct_.size() && is_direct))
        add_direct(direct_[direct++]);
      else add_staged(staged_[staged++]);
    }
    return std::move(program_);
  }

 private:
  Lane lane_of(std::size_t number, int slots) {
    const Path& path = dealt_.paths[number];
    Lane lane;
    if (!path.staged()) return lane;
    lane.first = program_.add(queue_of(machine_, path.first));
    lane.second = program_.add(queue_of(machine_, path.second));
    const auto chunks =
        std::count_if(dealt_.batches.begin(), dealt_.batches.end(),
                      [&](const PieceBatch& batch) { return batch.path == number; });
    lane.slots = static_cast<std::size_t>(std::min<std::ptrdiff_t>(slots, chunks));
    for (std::size_t slot = 0; slot < lane.slots; ++slot) {
      const int buffer = program_.add(
          ProgramBuffer{machine_.hop(path.first).destination, path.first, static_cast<int>(slot)});
      if (slot == 0) lane.slot = buffer;
    }
    return lane;
  }

  void list_steps() {
    for (const PieceBatch& batch : dealt_.batches) {
      const bool is_staged = dealt_.paths[batch.path].staged();
      for (const bool into_slot : {true, false})
        for (std::size_t piece = batch.first; piece < batch.first + batch.count; ++piece)
          if (is_staged || into_slot)
            (is_staged ? staged_ : direct_).push_back({&batch, piece, into_slot});
    }
  }

  [[nodiscard]] Node node_of(const Step& step, HopId hop) {
    Node node;
    node.hop = hop;
    node.source = {source_buffer(step.piece), {}};
    node.destination = {destination_buffer(step.piece), {}};
    node.bytes = sizes_[step.piece];
    node.path = static_cast<int>(step.batch->path);
    return node;
  }

  void add_direct(const Step& step) {
    Lane& lane = lanes_[step.batch->path];
    Node node = node_of(step, dealt_.paths[step.batch->path].first);
    node.chunk = lane.chunks++;
    program_.add(node);
  }

  // The first copy into a slot waits until it is empty, the first one out of it until all are in.
  void add_staged(const Step& step) {
    const Path& path = dealt_.paths[step.batch->path];
    Lane& lane = lanes_[step.batch->path];
    if (step.is_first()) begin(lane, step);
    Node node = node_of(step, step.into_slot ? path.first : path.second);
    (step.into_slot ? node.destination : node.source) = lane.staged;
    node.queue = step.into_slot ? lane.first : lane.second;
    node.chunk = lane.chunks - 1;
    const int before = step.is_first() ? waits_for(lane, step) : -1;
    const int added = before < 0 ? program_.add(node) : program_.add(node, {before});
    lane.staged.offset += aligned(node.bytes);
    if (!step.is_last()) return;
    if (step.into_slot) lane.arrived = added;
    else lane.emptied.push_back(added);
  }

  static void begin(Lane& lane, const Step& step) {
    if (step.into_slot) ++lane.chunks;
    const auto chunk = static_cast<std::size_t>(lane.chunks) - 1;
    lane.staged = {lane.slot + static_cast<int>(chunk % lane.slots), {}};
  }

  [[nodiscard]] static int waits_for(const Lane& lane, const Step& step) {
    if (!step.into_slot) return lane.arrived;
    const auto chunk = static_cast<std::size_t>(lane.chunks) - 1;
    return chunk < lane.slots ? -1 : lane.emptied[chunk - lane.slots];
  }

  const Machine& machine_;
  std::span<const Bytes> sizes_;
  const DealtPieces& dealt_;
  std::vector<Lane> lanes_;
  std::vector<Step> direct_, staged_;
  Program program_;
};

}  // namespace

DealtPieces deal(std::span<const Bytes> sizes, const PieceSplit& split) {
  DealtPieces dealt{{}, Dealer(sizes, split).deal()};
  std::vector<std::size_t> numbers(split.paths.size());
  for (std::size_t path = 0; path < split.paths.size(); ++path) {
    numbers[path] = dealt.paths.size();
    const bool carries = std::any_of(dealt.batches.begin(), dealt.batches.end(),
                                     [&](const PieceBatch& batch) { return batch.path == path; });
    if (carries) dealt.paths.push_back(split.paths[path]);
  }
  for (PieceBatch& batch : dealt.batches) batch.path = numbers[batch.path];
  return dealt;
}

TransferShape shape_of(std::span<const Bytes> sizes, const DealtPieces& dealt) {
  TransferShape shape{Executor::stream, {}};
  for (const Path& path : dealt.paths) shape.paths.push_back({path, {}});
  for (const PieceBatch& batch : dealt.batches) {
    PathShape& part = shape.paths[batch.path];
    std::vector<Bytes>& chunks = part.chunks;
    if (part.path.staged() || chunks.empty()) chunks.push_back({});
    for (const Bytes size : sizes.subspan(batch.first, batch.count)) chunks.back() += size;
  }
  return shape;
}

Program program_of(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                   int slots) {
  return PiecesBuilder(machine, sizes, dealt, std::max(slots, 1)).build();
}

}  // namespace polypath::model
