#include "communicator/transport/last_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "communicator/bootstrap/sockets.h"
#include "core/text.h"

namespace polypath::communicator {
namespace {

// A rank that has ended may have done its part.
constexpr Seconds kGraceOfEnd{1};
// So that it goes at once, into a buffer that is empty, and comes whole.
constexpr std::size_t kMostWords = 1024;
constexpr std::uint32_t kEndsWell = 0xffffffff;

struct Words {
  std::uint32_t code = kEndsWell;
  std::uint32_t bytes = 0;
};

}  // namespace

Error has_ended(const std::string& rank, const std::string& how) {
  std::string text = fmt::format("{} has ended ({}) Find out what became of that rank.", rank, how);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return {ErrorCode::communicator, text};
}

void LastWords::say(const std::optional<Error>& failure) {
  if (std::exchange(has_spoken_, true) || !connection_.is_open()) return;
  const std::string why = failure ? std::string(failure->what()).substr(0, kMostWords) : "";
  const Words words{.code = failure ? static_cast<std::uint32_t>(failure->code()) : kEndsWell,
                    .bytes = static_cast<std::uint32_t>(why.size())};
  const std::string text = std::string(reinterpret_cast<const char*>(&words), sizeof words) + why;
  (void)send_some(connection_, std::as_bytes(std::span(text)));
}

std::optional<Error> LastWords::failure(int own, const std::string& other) {
  listen();
  if (failure_ || !ended_ || !ended_->has_passed()) return failure_;
  return has_ended(other, fmt::format("its connection to rank {} is closed", own));
}

std::string LastWords::given_up() {
  listen();
  return failure_ ? failure_->what() : "";
}

bool LastWords::may_come() {
  listen();
  if (!connection_.is_open() || failure_ || has_ended_well_ || ended_) return false;
  if (!awaited_) awaited_ = Deadline(kGraceOfEnd);
  return !awaited_->has_passed();
}

void LastWords::listen() {
  if (!connection_.is_open() || failure_ || has_ended_well_ || ended_) return;
  std::string room(sizeof(Words) + kMostWords - heard_.size(), ' ');
  const Moved moved = receive_some(connection_, std::as_writable_bytes(std::span(room)));
  take(heard_ += room.substr(0, moved.bytes));
  if (moved.gone && !failure_ && !has_ended_well_) ended_ = Deadline(kGraceOfEnd);
}

void LastWords::take(const std::string& heard) {
  Words words;
  if (heard.size() < sizeof words) return;
  std::memcpy(&words, heard.data(), sizeof words);
  if (words.code == kEndsWell) has_ended_well_ = true;
  else if (heard.size() >= sizeof words + std::min<std::size_t>(words.bytes, kMostWords))
    failure_ =
        Error(error_code_of(words.code), valid_text(heard.substr(sizeof words, words.bytes)));
}

}  // namespace polypath::communicator
