#pragma once
// A rank's description of a call: all that must be the same at every rank, in terms of its callers,
// because this layer knows no operations.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polypath::communicator {

/// At most 16 bytes of text, for records that processes share.
class ShortName {
 public:
  static constexpr std::size_t kMost = 16;

  constexpr ShortName() = default;
  /// Bytes beyond 16 are cut off.
  constexpr ShortName(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && i < kMost; ++i) characters_[i] = text[i];
  }
  constexpr ShortName(const char* text) : ShortName(std::string_view(text)) {}

  bool operator==(const ShortName&) const = default;
  [[nodiscard]] std::string text() const;

 private:
  std::array<char, kMost> characters_{};
};

/// One call. Copied as words between processes: no pointers, no padding.
struct CallRecord {
  ShortName operation = {};  ///< "allreduce"
  ShortName type = {};       ///< of the elements, "float32"; empty if there are none
  ShortName reduction = {};  ///< "sum"; empty if nothing is reduced
  ShortName algorithm = {};  ///< "ring"; empty if the ranks need not agree on it
  std::uint64_t count = 0;   ///< elements; 0 where ranks may differ in it
  std::uint64_t digest = 0;  ///< a hash of all else that must be the same
  std::int32_t root = -1;    ///< a rank; -1 if there is none
  std::int32_t in_place = 0;

  bool operator==(const CallRecord&) const = default;
};

/// "allreduce of 1024 float32 (sum)", with what else there is to say.
std::string describe(const CallRecord& call);

/// The record of a rank that makes no more calls.
inline constexpr CallRecord kClosing{.operation = "close"};

/// The calls of two ranks, for a message: "Rank 0 calls …, rank 1 calls …". For a rank that closes
/// it says so.
std::string describe_difference(int rank, const CallRecord& call, int other,
                                const CallRecord& others);

/// The fields in which two calls differ, in words: {"count", "root"}.
std::vector<std::string> differences(const CallRecord& a, const CallRecord& b);

/// A record as words, as it lies in shared memory.
// NOLINTNEXTLINE(bugprone-sizeof-expression): that nothing is left over is checked below
inline constexpr std::size_t kCallWords = sizeof(CallRecord) / sizeof(std::uint64_t);
using CallWords = std::array<std::uint64_t, kCallWords>;
static_assert(sizeof(CallWords) == sizeof(CallRecord));

CallWords words_of(const CallRecord& call);
CallRecord call_of(const CallWords& words);

/// Hash of a call and of all calls before it, whose hash is `before`. So one comparison of the
/// latest call compares all earlier ones. Against chance, not against people.
std::uint64_t chain(std::uint64_t before, const CallWords& call);

}  // namespace polypath::communicator
