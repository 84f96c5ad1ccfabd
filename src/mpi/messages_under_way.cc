#include "mpi/messages_under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>

#include "core/text.h"

namespace polypath::mpi {
namespace {

constexpr int kFirstTag = 1, kRestTag = 2, kWordsTag = 3;
constexpr unsigned kLooksBetweenWords = 64;

}  // namespace

MessagesUnderWay::MessagesUnderWay(const Library& library, Handle comm, int rank, int size)
    : library_(library),
      comm_(comm),
      rank_(rank),
      size_(size),
      received_(static_cast<std::size_t>(size)) {}

void MessagesUnderWay::note(int other, Result result) {
  if (result == kSuccess) return;
  problems_.emplace_back(other, fmt::format("MPI has reported error {}", result));
}

void MessagesUnderWay::send(const void* memory, std::size_t bytes, int to, int tag,
                            Request& request) {
  if (bytes > INT_MAX)
    fail(ErrorCode::unsupported, fmt::format("a message of {} bytes", bytes),
         "MPI counts up to 2147483647", "Use smaller pieces.");
  const Result result = library_.real.Isend(memory, static_cast<int>(bytes), library_.byte, to, tag,
                                            comm_, &request.handle);
  request.is_open = result == kSuccess, request.has_failed = result != kSuccess;
  note(to, result);
}

void MessagesUnderWay::receive(void* memory, std::size_t bytes, int from, int tag,
                               Request& request) {
  const Result result = library_.real.Irecv(memory, static_cast<int>(bytes), library_.byte, from,
                                            tag, comm_, &request.handle);
  request.is_open = result == kSuccess, request.has_failed = result != kSuccess;
  note(from, result);
}

bool MessagesUnderWay::is_over(Request& request, int other) {
  if (!request.is_open) return true;
  int flag = 0;
  const Result result = library_.real.Test(&request.handle, &flag, library_.status_ignore);
  note(other, result);
  request.is_open = result == kSuccess && flag == 0;
  request.has_failed = result != kSuccess;
  return !request.is_open;
}

void MessagesUnderWay::start(const AskedMessage& asked) {
  if (!asked.is_sent) {
    Message& message =
        received_[static_cast<std::size_t>(asked.other)].emplace_back(Message{asked});
    ++received_count_;
    return receive(message.packet.get(), sizeof(Packet), asked.other, kFirstTag, message.first);
  }
  Message& message = sent_.emplace_back(Message{asked});
  Packet& packet = *message.packet;
  packet.header = {.tag = asked.tag, .bytes = asked.given.size()};
  const std::size_t here = asked.given.size() <= kFirstBytes ? asked.given.size() : 0;
  std::copy_n(asked.given.begin(), here, packet.bytes.begin());
  send(&packet, sizeof(Header) + here, asked.other, kFirstTag, message.first);
  if (here < asked.given.size())
    send(asked.given.data(), asked.given.size(), asked.other, kRestTag, message.rest);
}

void MessagesUnderWay::look(News& news) {
  look_at_sent(news);
  for (std::list<Message>& messages : received_)
    if (!messages.empty()) look_at_received(messages, news);
  std::erase_if(words_, [&](Spoken& each) { return is_over(each.request, rank_); });
  if (looks_++ % kLooksBetweenWords == 0) listen(news);
  for (auto& [other, problem] : problems_)
    if (other != rank_) news.problems.emplace_back(other, std::move(problem));
  problems_.clear();
}

// A message that has failed is dropped, and never over: its rank's problem is told.
void MessagesUnderWay::look_at_sent(News& news) {
  std::erase_if(sent_, [&](Message& each) {
    if (!is_over(each.first, each.asked.other) || !is_over(each.rest, each.asked.other))
      return false;
    if (!each.first.has_failed && !each.rest.has_failed) news.over.push_back(each.asked.number);
    return true;
  });
}

// In their order, in which the rest of each is asked for.
void MessagesUnderWay::look_at_received(std::list<Message>& messages, News& news) {
  for (Message& each : messages)
    if (!read(each)) break;
  std::erase_if(messages, [&](Message& each) {
    const bool has_failed = each.first.has_failed;
    if (!has_failed && (!each.is_read || !is_over(each.rest, each.asked.other))) return false;
    if (!has_failed && !each.rest.has_failed) news.over.push_back(each.asked.number);
    --received_count_;
    return true;
  });
}

std::size_t MessagesUnderWay::count() const {
  if (!has_let_go_) return sent_.size() + received_count_;
  const auto open_in = [](const std::list<Message>& messages) {
    return static_cast<std::size_t>(std::count_if(
        messages.begin(), messages.end(), [](const Message& each) { return each.rest.is_open; }));
  };
  return std::accumulate(
      received_.begin(), received_.end(), open_in(sent_),
      [&](std::size_t sum, const std::list<Message>& each) { return sum + open_in(each); });
}

void MessagesUnderWay::let_go() { has_let_go_ = true; }

bool MessagesUnderWay::read(Message& message) {
  if (message.is_read) return true;
  AskedMessage& asked = message.asked;
  if (!is_over(message.first, asked.other) || message.first.has_failed) return false;
  if (has_let_go_) return message.is_read = true;
  const Header& come = message.packet->header;
  if (come.tag != asked.tag || come.bytes != asked.taken.size()) {
    problems_.emplace_back(
        asked.other, fmt::format("it sent {} bytes with tag {} where {} with tag {} were expected",
                                 come.bytes, come.tag, asked.taken.size(), asked.tag));
    return false;
  }
  message.is_read = true;
  if (come.bytes <= kFirstBytes)
    std::copy_n(message.packet->bytes.begin(), come.bytes, asked.taken.begin());
  else receive(asked.taken.data(), asked.taken.size(), asked.other, kRestTag, message.rest);
  return true;
}

void MessagesUnderWay::say(const Error& why) {
  if (std::exchange(has_spoken_, true)) return;
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    Spoken& spoken = words_.emplace_back(Spoken{std::make_unique<Words>()});
    spoken.words->code = static_cast<std::uint32_t>(why.code());
    std::strncpy(spoken.words->text.data(), why.what(), spoken.words->text.size() - 1);
    send(spoken.words.get(), sizeof(Words), other, kWordsTag, spoken.request);
  }
}

void MessagesUnderWay::listen(News& news) const {
  int flag = 0;
  library_.real.Iprobe(library_.any_source, kWordsTag, comm_, &flag, library_.status_ignore);
  if (flag == 0) return;
  Words words;
  if (library_.real.Recv(&words, sizeof words, library_.byte, library_.any_source, kWordsTag, comm_,
                         library_.status_ignore) != kSuccess)
    return;
  words.text.back() = 0;
  news.failures.emplace_back(error_code_of(words.code), valid_text(words.text.data()));
}

}  // namespace polypath::mpi
