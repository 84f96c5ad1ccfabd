#pragma once
// What comes before what, by CUDA's rules: clocks of streams and of the program's own threads. A
// random program asks before it lets two things touch the same bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace program {

using Queue = std::size_t;

/// The `count`-th thing in a queue, from 1.
struct Moment {
  Queue queue = 0;
  std::uint64_t count = 0;
};

/// For each queue, how many of its things are over.
class Clock {
 public:
  [[nodiscard]] bool covers(const Moment& moment) const {
    return moment.queue < counts_.size() && counts_[moment.queue] >= moment.count;
  }
  void join(const Clock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
      counts_[i] = std::max(counts_[i], other.counts_[i]);
  }
  /// The next thing of a queue.
  Moment tick(Queue queue) {
    if (counts_.size() <= queue) counts_.resize(queue + 1);
    return {queue, ++counts_[queue]};
  }

 private:
  std::vector<std::uint64_t> counts_;
};

/// Who touched the bytes of a buffer last.
class Touches {
 public:
  /// What is not over by `clock` and must be, before bytes from `begin` to `end` are read, or
  /// written.
  [[nodiscard]] std::vector<Moment> in_the_way(std::size_t begin, std::size_t end, bool writes,
                                               const Clock& clock) const {
    std::vector<Moment> found;
    const auto look_at = [&](const Moment& moment) {
      if (moment.count > 0 && !clock.covers(moment)) found.push_back(moment);
    };
    for (auto at = piece_at(begin); at != pieces_.end() && at->first < end; ++at) {
      look_at(at->second.writer);
      if (writes)
        for (const Moment& reader : at->second.readers) look_at(reader);
    }
    return found;
  }

  void touch(std::size_t begin, std::size_t end, bool writes, const Moment& moment) {
    split(begin);
    split(end);
    for (auto at = pieces_.find(begin); at != pieces_.end() && at->first < end;) {
      if (!writes) {
        read(at->second, moment);
        ++at;
        continue;
      }
      // Written as one, so that it is one piece from now on.
      at = pieces_.erase(at);
    }
    if (writes) pieces_[begin] = {moment, {}};
  }

 private:
  struct Piece {
    Moment writer;
    std::vector<Moment> readers;
  };
  using Pieces = std::map<std::size_t, Piece>;

  // Of one queue the newest is enough.
  static void read(Piece& piece, const Moment& moment) {
    for (Moment& reader : piece.readers)
      if (reader.queue == moment.queue) {
        reader.count = std::max(reader.count, moment.count);
        return;
      }
    piece.readers.push_back(moment);
  }
  [[nodiscard]] Pieces::const_iterator piece_at(std::size_t offset) const {
    return std::prev(pieces_.upper_bound(offset));
  }
  void split(std::size_t offset) {
    const auto at = piece_at(offset);
    if (at->first != offset) pieces_[offset] = Piece(at->second);
  }

  Pieces pieces_ = {{0, {}}};  // by where they begin
};

}  // namespace program
