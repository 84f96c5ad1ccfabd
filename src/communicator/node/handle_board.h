#pragma once
// A rank publishes handles (some bytes under a number) to all other ranks of its node, may take
// them back, and learns whether the others have acknowledged them. Nothing here waits.
//
// Each number has editions, counted up from 1 whenever its bytes change; taking it back is an
// edition without bytes. A reader acknowledges or refuses an edition, once. A number is used again
// when all ranks have answered its last edition.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/node/shared_words.h"

namespace polypath::communicator {

/// Not thread-safe: one thread at a time of each rank.
template <class Shared>
class HandleBoardOn {
 public:
  static constexpr std::size_t kMostBytes = Shared::kNoticeBytes;
  static constexpr int kMost = Shared::kNotices;

  /// One edition that this rank has not answered.
  struct Update {
    int from = 0;
    int number = 0;
    std::uint64_t edition = 0;
    Blob bytes;  ///< empty if it was taken back
  };

  static std::size_t bytes_for(int ranks);
  /// `memory` is shared by all ranks of the node, zeros at first, and outlives this.
  HandleBoardOn(void* memory, int ranks, int local);

  /// Its number; none if all numbers are in use, or there are too many bytes.
  std::optional<int> publish(const Blob& bytes);
  void take_back(int number);
  /// True if all other ranks have acknowledged the last edition.
  [[nodiscard]] bool is_acked_by_all(int number) const;
  /// True if all other ranks have acknowledged or refused it.
  [[nodiscard]] bool is_answered(int number) const;
  /// True if another rank has refused it.
  [[nodiscard]] bool is_refused(int number) const;

  /// The updates of the other ranks since the last call.
  std::vector<Update> poll();
  void acknowledge(const Update& news, bool is_taken);

 private:
  template <class Value>
  using Word = typename Shared::template Word<Value>;
  static constexpr std::size_t kWords = kMostBytes / sizeof(std::uint64_t);
  struct Notice {
    Word<std::uint64_t> edition;  ///< 0 while the words change
    Word<std::uint64_t> bytes;
    std::array<Word<std::uint64_t>, kWords> words;
  };

  [[nodiscard]] Word<std::uint64_t>& changes(int rank) const;
  [[nodiscard]] Notice& notice(int rank, int number) const;
  /// 2·edition, + 1 for yes.
  [[nodiscard]] Word<std::uint64_t>& answer_of(int reader, int rank, int number) const;
  void write(int number, const Blob& bytes);
  [[nodiscard]] std::optional<Update> read(int rank, int number) const;

  void* memory_;
  int ranks_;
  int local_;
  std::vector<std::uint64_t> seen_;                 ///< changes of each rank
  std::array<std::uint64_t, kMost> editions_ = {};  ///< of this rank's own
  std::array<bool, kMost> is_said_ = {};            ///< and not taken back
};

using HandleBoard = HandleBoardOn<SharedWords>;
extern template class HandleBoardOn<SharedWords>;

}  // namespace polypath::communicator
