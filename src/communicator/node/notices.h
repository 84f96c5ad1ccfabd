#pragma once
// What a rank lets all others of its node know, now and then, and whether they have taken it in:
// some bytes, under a number, that it may take back. Nothing here waits.
//
// Of each notice there are editions, counted up from 1 whenever its bytes change; taken back, it is
// an edition without bytes. A reader answers an edition, once. A number is used again when all have
// answered its last edition.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/node/shared_words.h"

namespace polypath {

/// Not thread-safe: one thread at a time of each rank.
template <class Shared>
class NoticesOn {
 public:
  static constexpr std::size_t kMostBytes = Shared::kNoticeBytes;
  static constexpr int kMost = Shared::kNotices;

  /// One edition that this rank has not answered.
  struct News {
    int from = 0;
    int number = 0;
    std::uint64_t edition = 0;
    Blob bytes;  ///< empty if it was taken back
  };

  static std::size_t bytes_for(int ranks);
  /// `memory` is shared by all ranks of the node, zeros at first, and outlives this.
  NoticesOn(void* memory, int ranks, int local);

  /// Its number; none if all numbers are in use, or there are too many bytes.
  std::optional<int> say(const Blob& bytes);
  void take_back(int number);
  /// True if all others have answered the last edition, and with yes.
  [[nodiscard]] bool is_taken_by_all(int number) const;
  /// True if somebody has answered it with no.
  [[nodiscard]] bool is_refused(int number) const;

  /// What the others have said since the last time.
  std::vector<News> news();
  void answer(const News& news, bool is_taken);

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
  [[nodiscard]] bool is_answered(int number) const;
  void write(int number, const Blob& bytes);
  [[nodiscard]] std::optional<News> read(int rank, int number) const;

  void* memory_;
  int ranks_;
  int local_;
  std::vector<std::uint64_t> seen_;                 ///< changes of each rank
  std::array<std::uint64_t, kMost> editions_ = {};  ///< of this rank's own
  std::array<bool, kMost> is_said_ = {};            ///< and not taken back
};

using Notices = NoticesOn<SharedWords>;
extern template class NoticesOn<SharedWords>;

}  // namespace polypath
